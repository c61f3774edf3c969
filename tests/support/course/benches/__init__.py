"""What tests of benches share."""
