"""Data sets: finding, fetching, rendering and dealing them to devices."""

from dmafl.data.dataset import Dataset
from dmafl.data.fetch import fetch
from dmafl.data.lookup import Listing, available, find
from dmafl.data.partition import Partition, partition
from dmafl.data.street_digits import street_digits

__all__ = ["Dataset", "Listing", "Partition", "available", "fetch", "find", "partition", "street_digits"]
