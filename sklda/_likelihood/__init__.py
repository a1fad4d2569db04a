"""The likelihood of new documents, and of a corpus with its topics integrated out."""
