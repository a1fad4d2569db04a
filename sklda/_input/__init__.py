"""What people give: counts, names, values of documents, designs."""
