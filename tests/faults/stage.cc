// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/stage.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/faults/documented.h"
#include "tests/faults/policy.h"
#include "tests/support/census_guard.h"

namespace rpma::faults {
namespace {

constexpr char kClientAddress[] = "10.20.0.1";
constexpr char kServerAddress[] = "10.20.0.2";
constexpr char kOtherAddress[] = "10.20.0.3";
constexpr char kOtherDevice[] = "emu2";

alignas(4096) uint8_t client_memory[Program::kMemorySize];
alignas(4096) uint8_t server_memory[Program::kMemorySize];

// The stage itself must stand.
void Require(int rc, const char* what) {
  if (rc == 0) return;
  std::fprintf(stderr, "%s failed: %s\n", what, rpma_err_2str(rc));
  std::abort();
}

}  // namespace

Stage::Stage(const Scenario& scenario, uint64_t seed, bool apart)
    : scenario_(scenario) {
  LoadDocumentedCodes();
  const std::string options = "schedule=stepped seed=" + std::to_string(seed) +
                              " " + scenario.device_options;
  Require(rpma_emu_fabric_new(options.c_str(), &fabric_), "creating a fabric");
  Require(rpma_emu_fabric_select(fabric_), "selecting a fabric");
  Require(rpma_emu_address_add(fabric_, kClientAddress, kClientDevice),
          "adding an address");
  AddNode(kServerDevice, kServerAddress);
  if (apart) AddNode(kOtherDevice, kOtherAddress);
  // The client's node leads to the server's.
  Require(rpma_emu_route_add(fabric_, kServerAddress, kClientDevice),
          "adding a route");
  bystander_.emplace(apart ? kOtherAddress : kClientAddress,
                     apart ? kOtherAddress : kServerAddress);
  census_ = Census();
  descriptors_ = test::CountDescriptors();
}

Stage::~Stage() {
  bystander_.reset();
  rpma_emu_fabric_delete(&fabric_);
}

void Stage::AddNode(const char* device, const char* address) {
  Require(rpma_emu_device_add(fabric_, device, scenario_.device_options),
          "adding a device");
  Require(rpma_emu_address_add(fabric_, address, device), "adding an address");
}

void Stage::SetFaults(const char* plan) {
  const test::FailingAllocator hidden;  // what the plan needs is the emulator's
  Require(rpma_emu_set_faults(fabric_, plan), "setting a plan");
}

Execution Stage::Run(const Fault& fault) {
  Execution execution;
  test::FailingAllocator allocator;
  const uint64_t complaints = log_.complaints();
  const uint64_t abandoned_before = log_.abandoned_buffers();
  SetFaults(fault.plan.c_str());
  if (fault.and_later) {
    allocator.ArmFrom(fault.allocation);
  } else {
    allocator.ArmNth(fault.allocation);
  }
  Policy policy = PolicyFor(fault.plan);
  policy.fails_once &= !fault.and_later;
  Program program({.fabric = fabric_,
                   .client = {kClientAddress, client_memory},
                   .server = {kServerAddress, server_memory},
                   .log = &log_,
                   .allocator = &allocator,
                   .findings = &execution.findings},
                  policy);
  const bool did_all = scenario_.run(program);
  execution.fired = program.faults_fired();
  execution.first_struck = program.first_struck();

  if (!did_all && (execution.fired == 0 || policy.overcome)) {
    execution.findings.Add("the program did not do what it meant to");
  }

  allocator.Disarm();
  SetFaults("");
  if (!program.gave_up())
    CheckCensus("were not destroyed", &execution.findings);
  program.Settle();
  ComeToRest(&execution.findings);
  const auto abandoned =
      static_cast<int64_t>(log_.abandoned_buffers() - abandoned_before);
  if (allocator.live() != abandoned) {
    execution.findings.Add("%lld allocations are left, not %lld",
                           static_cast<long long>(allocator.live()),
                           static_cast<long long>(abandoned));
  }
  CheckCensus("are left", &execution.findings);
  if (policy.fails_calls && log_.complaints() != complaints) {
    execution.findings.Add("the emulator complains: %s", log_.latest());
  }
  bystander_->Check(&execution.findings);
  return execution;
}

void Stage::ComeToRest(Findings* findings) {
  const test::FailingAllocator hidden;  // steps are the emulator's
  constexpr int kMostSteps = 100000;
  int steps = 0;
  while (steps < kMostSteps && rpma_emu_step(fabric_) == 0) ++steps;
  if (steps == kMostSteps) findings->Add("the world does not come to rest");
}

uint64_t Stage::TraceHash() const {
  uint64_t hash = 0;
  Require(rpma_emu_get_trace_hash(fabric_, &hash), "taking the hash");
  return hash;
}

rpma_emu_census Stage::Census() const {
  rpma_emu_census census = {};
  Require(rpma_emu_get_census(fabric_, &census), "taking a census");
  return census;
}

void Stage::CheckCensus(const char* complaint, Findings* findings) const {
  const rpma_emu_census now = Census();
  const struct {
    const char* what;
    uint32_t before;
    uint32_t now;
  } kinds[] = {
      {"PDs", census_.pds, now.pds},
      {"MRs", census_.mrs, now.mrs},
      {"completion channels", census_.comp_channels, now.comp_channels},
      {"CQs", census_.cqs, now.cqs},
      {"SRQs", census_.srqs, now.srqs},
      {"QPs", census_.qps, now.qps},
      {"CM ids", census_.cm_ids, now.cm_ids},
      {"event channels", census_.event_channels, now.event_channels},
      {"unacknowledged events", census_.unacked_events, now.unacked_events},
  };
  for (const auto& kind : kinds) {
    if (kind.now == kind.before) continue;
    findings->Add("%d %s %s",
                  static_cast<int>(kind.now) - static_cast<int>(kind.before),
                  kind.what, complaint);
  }
}

void Stage::CheckDescriptors(Findings* findings) const {
  const size_t now = test::CountDescriptors();
  if (now == descriptors_) return;
  findings->Add("%zu descriptors are open, not %zu", now, descriptors_);
}

}  // namespace rpma::faults
