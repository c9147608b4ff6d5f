from .models.language_model import LanguageModel as LanguageModel
