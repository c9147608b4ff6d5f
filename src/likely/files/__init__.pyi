from .errors import FileError as FileError
from .model import (
    load as load,
    read_card as read_card,
    save as save,
)
from .table import FUNCTIONS as FUNCTIONS
