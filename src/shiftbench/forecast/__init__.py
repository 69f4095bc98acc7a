"""What a workflow would do, why, and what that would cost, told before anything runs."""
