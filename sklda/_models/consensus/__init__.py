"""ConsensusTopics: the topics that most fits have."""
