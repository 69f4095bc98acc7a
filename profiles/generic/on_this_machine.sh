#!/bin/sh
# A cluster of one machine, to try the profile on: starts the job's script and prints its number.
for script; do :; done
nohup sh "$script" > /dev/null 2>&1 &
echo $!
