from .graph import (
    neighbors as neighbors,
    neighbors_among as neighbors_among,
    neighbors_and_index as neighbors_and_index,
    recall as recall,
)
