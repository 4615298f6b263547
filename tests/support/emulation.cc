// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/emulation.h"

#include "tests/support/matchers.h"

namespace rpma::test {
namespace {

constexpr char kFirstDevice[] = "emu0";

}  // namespace

rpma_emu_fabric* Emulation::stepped_ = nullptr;

Emulation::Emulation(const std::string& profile, const std::string& options) {
  const std::string text = "profile=" + profile + " " + options;
  EXPECT_THAT(rpma_emu_fabric_new(text.c_str(), &fabric_), IsOk());
  EXPECT_THAT(rpma_emu_fabric_select(fabric_), IsOk());
  if (options.find("schedule=stepped") != std::string::npos) stepped_ = fabric_;
}

Emulation::~Emulation() {
  if (stepped_ == fabric_) stepped_ = nullptr;
  EXPECT_THAT(rpma_emu_fabric_delete(&fabric_), IsOk());
}

void Emulation::AddDevice(const std::string& name, const std::string& options,
                          const std::string& address) {
  EXPECT_THAT(rpma_emu_device_add(fabric_, name.c_str(), options.c_str()),
              IsOk());
  EXPECT_THAT(rpma_emu_address_add(fabric_, address.c_str(), name.c_str()),
              IsOk());
}

void Emulation::AddRoute(const std::string& address) {
  EXPECT_THAT(rpma_emu_route_add(fabric_, address.c_str(), kFirstDevice),
              IsOk());
}

void Emulation::SetFaults(const std::string& plan) {
  EXPECT_THAT(rpma_emu_set_faults(fabric_, plan.c_str()), IsOk());
}

uint64_t Emulation::Fired(size_t rule) const {
  uint64_t fired = 0;
  EXPECT_THAT(rpma_emu_get_fired(fabric_, rule, &fired), IsOk());
  return fired;
}

void Emulation::Reclaim() { EXPECT_THAT(rpma_emu_reclaim(fabric_), IsOk()); }

std::string Emulation::Explain(uint32_t qp_num) const {
  char text[512] = "";
  EXPECT_THAT(rpma_emu_explain(fabric_, qp_num, text, sizeof(text)), IsOk());
  return text;
}

bool Emulation::Step() { return IsStepped() && rpma_emu_step(stepped_) == 0; }

}  // namespace rpma::test
