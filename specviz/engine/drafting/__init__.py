"""Ways to propose draft tokens, one module each, behind the `Drafter` protocol of base.py."""
