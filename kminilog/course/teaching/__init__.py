"""What those who teach do: prepare a term, prove the labs, grade, and compare classes."""
