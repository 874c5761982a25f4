#!/bin/sh
# The clients' configuration files and the history belong to each user, so the package neither
# reads nor changes them. It prints the command that each user can run.
set -e
case "$1" in
remove | purge | 0)
	echo 'Drawbridge: each user who connected clients can disconnect them with: drawbridge uninstall'
	;;
esac
exit 0
