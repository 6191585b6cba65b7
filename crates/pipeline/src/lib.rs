//! Turns a .gitlab-ci.yml into jobs and schedules them.
