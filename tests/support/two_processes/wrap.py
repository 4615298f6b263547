#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns the table of librpma's functions into what calls them in another process.

  real.inc      the declaration of __real_F for each function F that is wrapped
  wrapped.inc   ROUTED(F, parameters, arguments) for those not written by hand
  wraps.lds     the linker's options
"""
import argparse
import csv
import re
import sys

# They only read or write plain values of the caller's process.
LOCAL = re.compile(r"rpma_(conn_cfg|srq_cfg|peer_cfg|err|mr_remote_get)_"
                   r"|rpma_(log_get_threshold|mr_get_descriptor_size|utils_conn_event_2str)$")
# Their arguments need more than their types say: wrapped.cc has them.
BY_HAND = re.compile(r"rpma_(conn_get_compl_fd|conn_get_event_fd|cq_get_fd|ep_get_fd"
                     r"|cq_get_wc|mr_reg|mr_get_descriptor|atomic_write|log_set_function"
                     r"|log_set_threshold|mr_remote_from_descriptor|mr_remote_delete)$")
# Of librpma_emu.h: emulator.cc has them.
OF_EMULATOR = ["fabric_new", "fabric_delete", "fabric_select", "device_add", "address_add",
               "route_add", "set_faults", "get_fired", "get_census", "explain", "reclaim",
               "get_async_event"]


def parameters(row):
    text = re.fullmatch(rf".*?\b{row['function']}\((.*)\);", row["c_prototype"]).group(1)
    names = [re.search(r"(\w+)(\[\d+\])?$", one).group(1) for one in text.split(",")]
    return text, ", ".join(names)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["real", "wrapped", "options"])
    parser.add_argument("table", help="functions.tsv")
    args = parser.parse_args()
    with open(args.table, encoding="utf-8") as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t")
                if not LOCAL.match(row["function"])]
    names = [row["function"] for row in rows] + [f"rpma_emu_{name}" for name in OF_EMULATOR]
    if args.kind == "real":
        lines = [f"extern \"C\" decltype({name}) __real_{name};" for name in names]
    elif args.kind == "options":
        lines = [f"--wrap={name}" for name in names]
    else:
        lines = ["ROUTED({}, ({}), ({}))".format(row["function"], *parameters(row))
                 for row in rows if not BY_HAND.match(row["function"])]
    sys.stdout.writelines(line + "\n" for line in lines)


if __name__ == "__main__":
    main()
