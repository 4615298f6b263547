// SPDX-License-Identifier: BSD-3-Clause
// Chooses the network, asks the emulator for explanations and counts its
// objects.

#include "tools/quickstart/network.h"

#include <librpma_emu.h>

#include <cstdlib>
#include <new>

#include "tools/quickstart/failure.h"
#include "tools/quickstart/library.h"

namespace rpma::quickstart {
namespace {

// librpma's choice is the process's, too.
bool emulated = false;

}  // namespace

void UseEmulatedNetwork() {
  Check(rpma_emu_fabric_select(nullptr), "use the emulated network");
  emulated = true;
}

void UseRdmaDevices() {
  if (setenv("RPMA_TRANSPORT", "verbs", 1) != 0) throw std::bad_alloc();
}

bool IsEmulated() { return emulated; }

std::string Explain(uint32_t qp_num) {
  if (!emulated) return "";
  char text[512];
  const int result = rpma_emu_explain(nullptr, qp_num, text, sizeof text);
  return result == 0 ? text : "";
}

void CheckNothingLeft() {
  if (!emulated) return;
  rpma_emu_census census = {};
  Check(rpma_emu_get_census(nullptr, &census), "count the objects left");
  const uint32_t left = census.pds + census.mrs + census.comp_channels +
                        census.cqs + census.srqs + census.qps + census.cm_ids +
                        census.event_channels;
  if (left != 0) throw Failure(Text(left, " objects of librpma were left"));
}

}  // namespace rpma::quickstart
