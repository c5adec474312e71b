#!/bin/sh
# Shows "dnd, building PROJECT" to your contacts while a command runs, and the result for ten minutes afterwards.
#
#   presence-around-build.sh make -j8
#   presence-around-build.sh swift test && git push
#
# Exits with the command's status. Without a login, it only runs the command.

[ $# -gt 0 ] || { echo "usage: ${0##*/} COMMAND [ARGUMENT …]" >&2; exit 64; }
imctl whoami >/dev/null 2>&1 || exec "$@"

project=${PWD##*/}
# Ctrl-C ends the build, but not this script, which reports the result.
trap : INT

imctl presence dnd "building $project" -- "$@"
status=$?

# Restores the previous presence, which is the first word of `imctl presence`.
show=$(imctl presence | sed 's/[^a-z].*//')
case $status in
  0) text="$project is built" ;;
  130) text="$project: build cancelled" ;;
  *) text="$project: build failed ($status)" ;;
esac
imctl presence "${show:-online}" "$text" --for 10m -q
exit $status
