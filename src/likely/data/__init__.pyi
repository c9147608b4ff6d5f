from .bundled import (
    breast_cancer as breast_cancer,
    diabetes as diabetes,
    digits as digits,
    iris as iris,
    linnerud as linnerud,
    wine as wine,
)
from .classes import (
    disc as disc,
    inseparable as inseparable,
    mixture as mixture,
    moons as moons,
    rings as rings,
    separable as separable,
    spirals as spirals,
)
from .corpora.date_formats import date_formats as date_formats
from .corpora.grammar import (
    Grammar as Grammar,
    english_grammar as english_grammar,
)
from .corpora.reviews import reviews as reviews
from .corpora.templates import (
    Fact as Fact,
    Templates as Templates,
    templates as templates,
)
from .corpora.word_families import (
    WordFamilies as WordFamilies,
    word_families as word_families,
)
from .curves import (
    correlated as correlated,
    counts as counts,
    curve as curve,
    heteroscedastic as heteroscedastic,
    linear as linear,
    polynomial as polynomial,
)
from .dataset import Dataset as Dataset
from .dependence import (
    biased as biased,
    couples as couples,
    drift as drift,
)
from .detection.annotated import AnnotatedImages as AnnotatedImages
from .detection.boxes_file import read_boxes as read_boxes
from .detection.coco import read_coco as read_coco
from .detection.pictures import read_image as read_image
from .detection.scenes import (
    digit_scenes as digit_scenes,
    shape_scenes as shape_scenes,
)
from .detection.voc import read_voc as read_voc
from .detection.yolo_text import read_yolo as read_yolo
from .download import data_folder as data_folder
from .errors import (
    DownloadError as DownloadError,
    TableError as TableError,
)
from .frames import to_arrow as to_arrow
from .idx import read_idx as read_idx
from .registry import (
    load as load,
    names as names,
)
from .remote import (
    cifar10 as cifar10,
    fashion_mnist as fashion_mnist,
    mnist as mnist,
    tinyshakespeare as tinyshakespeare,
)
from .schema import (
    Column as Column,
    Schema as Schema,
)
from .series import signals as signals
from .speeches import speakers as speakers
from .table_file import (
    TableFile as TableFile,
    open_table as open_table,
    read_table as read_table,
)
