from .models.language_model import LanguageModel as LanguageModel
from .models.masked_language_model import MaskedLanguageModel as MaskedLanguageModel
from .models.prompting import few_shot as few_shot
from .models.seq2seq import Seq2Seq as Seq2Seq
from .models.supervised.text_classifier import TextClassifier as TextClassifier
from .models.supervised.text_regressor import TextRegressor as TextRegressor
from .models.supervised.text_tagger import TextTagger as TextTagger
from .tokenizers.byte_pairs import BytePairTokenizer as BytePairTokenizer
from .tokenizers.bytes import ByteTokenizer as ByteTokenizer
from .tokenizers.characters import CharacterTokenizer as CharacterTokenizer
from .tokenizers.one_hot import one_hot_tokens as one_hot_tokens
from .tokenizers.patches import image_patches as image_patches
from .tokenizers.settings import tokenizer_of as tokenizer_of
from .tokenizers.study import vocabulary_study as vocabulary_study
from .tokenizers.words import WordTokenizer as WordTokenizer
from .vectors.bag_of_words import CountVectorizer as CountVectorizer
from .vectors.cooccurrence import (
    cooccurrence as cooccurrence,
    window_pairs as window_pairs,
)
from .vectors.factorization import eigen_embedding as eigen_embedding
from .vectors.ngrams import ngrams as ngrams
from .vectors.pmi import pmi as pmi, pmi_constant as pmi_constant
from .vectors.tfidf import TfidfVectorizer as TfidfVectorizer
from .vectors.word_vectors import WordVectors as WordVectors
