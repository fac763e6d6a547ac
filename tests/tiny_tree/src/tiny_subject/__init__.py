"""A tiny manager-based environment: point bodies pulled about by actions, tracked, rewarded and reset."""
