#!/bin/sh
# Shows "dnd, building PROJECT" to your contacts while a command runs, and how it went for ten minutes after.
#
#   presence-around-build.sh make -j8
#   presence-around-build.sh swift test && git push
#
# Exits with the command's status. Who is not logged in gets just the command.

[ $# -gt 0 ] || { echo "usage: ${0##*/} COMMAND [ARGUMENT …]" >&2; exit 64; }
imctl whoami >/dev/null 2>&1 || exec "$@"

project=${PWD##*/}
# Ctrl-C ends the build, not the report about it.
trap : INT

imctl presence dnd "building $project" -- "$@"
status=$?

# Back to what was shown before; that is the first word of `imctl presence`.
show=$(imctl presence | sed 's/[^a-z].*//')
case $status in
  0) text="$project is built" ;;
  130) text="$project: build cancelled" ;;
  *) text="$project: build failed ($status)" ;;
esac
imctl presence "${show:-online}" "$text" --for 10m -q
exit $status
