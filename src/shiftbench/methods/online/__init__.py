"""What online learners share: one row after the other, linear scores and their losses."""
