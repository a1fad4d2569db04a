"""A model and its documents as metrics and inspection read them, in any form in which they are given.

- `models`: the topic model inside pipelines and searches, its words and shares; `Description` adds names.
- `view`: the same as arrays, with the documents, their proportions and what they have.
"""
