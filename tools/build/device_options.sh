# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# Sourced by the commands that run something on soft-RDMA devices. The command
# defines help(), which prints its usage; parse_devices "$@" then makes the list
# `devices` of its arguments.

die() {
  echo "${0##*/}: $*" >&2
  exit 2
}

parse_devices() {
  devices=(rxe siw)
  while (($#)); do
    case $1 in
      --help | -h) help && device_help && exit ;;
      --device=*) set -- --device "${1#*=}" "${@:2}" ;;
      --device)
        case ${2-} in
          rxe | siw) devices=("$2") ;;
          both) devices=(rxe siw) ;;
          *) die "--device takes rxe, siw or both" ;;
        esac
        shift 2
        ;;
      *) die "$1: unknown; --help lists the options" ;;
    esac
  done
}

device_help() {
  cat <<'END'

  --device rxe|siw|both   soft-RoCE, soft-iWARP, or one after the other (default)
  --help                  this text
END
}
