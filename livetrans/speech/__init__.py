"""From sound to transcripts: voice activity, streaming recognition, LocalAgreement, recorded streams."""
