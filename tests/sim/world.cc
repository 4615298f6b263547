// SPDX-License-Identifier: BSD-3-Clause

#include "tests/sim/world.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tests/sim/fault_effects.h"

namespace rpma::sim {
namespace {

constexpr size_t kKeptLines = 40;

// All that a function of librpma may return.
constexpr int kCodes[] = {
    0,
    RPMA_E_UNKNOWN,
    RPMA_E_NOSUPP,
    RPMA_E_PROVIDER,
    RPMA_E_NOMEM,
    RPMA_E_INVAL,
    RPMA_E_NO_COMPLETION,
    RPMA_E_NO_EVENT,
    RPMA_E_SHARED_CHANNEL,
    RPMA_E_NOT_SHARED_CHNL,
};

std::string CodeName(int rc) { return rc == 0 ? "0" : rpma_err_2str(rc); }

bool Contains(Codes codes, int rc) {
  return std::find(codes.begin(), codes.end(), rc) != codes.end();
}

// Whether a failure with this code is logged as an error.
bool IsLogged(int rc) {
  return rc == RPMA_E_PROVIDER || rc == RPMA_E_UNKNOWN || rc == RPMA_E_NOMEM;
}

Rules RulesOf(const Scenario& scenario) {
  Rules rules;
  rules.is_iwarp = scenario.profile == "iwarp";
  rules.is_stepped = scenario.asked.schedule == Schedule::kStepped;
  rules.pads_private_data = !rules.is_iwarp;
  rules.max_request_data = rules.is_iwarp ? 251 : 56;
  rules.max_accept_data = rules.is_iwarp ? 251 : 196;
  rules.max_qp_wr = 32;
  rules.max_cqe = 64;
  rules.max_srq_wr = 64;
  return rules;
}

}  // namespace

void MakeNonBlocking(int fd) {
  Require(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0,
          "fcntl(fd=", fd, ") failed: ", strerror(errno));
}

World::World(const Scenario& with, const Api& functions)
    : scenario(with),
      api(functions),
      rules(RulesOf(with)),
      actions(with.asked.seed, "actions"),
      parameters(with.asked.seed, "parameters"),
      data(with.asked.seed, "data"),
      faults(scenario.plan) {
  CreateFabric();
  faults.Start(fabric());
}

World::~World() {
  if (api.before_the_end) api.before_the_end();
  rpma_emu_set_faults(fabric(), nullptr);
  DeleteAll();
  rpma_emu_reclaim_all(fabric());
}

// Nothing is left of a walk that came to its end.
void World::DeleteAll() {
  for (const auto& end : ends) {
    rpma_conn_req_delete(&end->request);
    rpma_conn_delete(&end->conn);
  }
  for (const auto& endpoint : endpoints) rpma_ep_shutdown(&endpoint->handle);
  for (const auto& srq : srqs) rpma_srq_delete(&srq->handle);
  for (const auto& region : regions) {
    rpma_mr_dereg(&region->local);
    rpma_mr_remote_delete(&region->remote);
  }
  for (const auto& peer : peers) rpma_peer_delete(&peer->handle);
}

void World::CreateFabric() {
  std::string options = scenario.nodes[0].options;
  if (is_stepped()) {
    options += Text(" schedule=stepped seed=", scenario.asked.seed);
    const std::string& trace = scenario.asked.trace;
    if (!trace.empty()) options += " trace=" + trace;
  }
  rpma_emu_fabric* made = nullptr;
  Require(rpma_emu_fabric_new(options.c_str(), &made) == 0,
          "no fabric with the options ", options);
  fabric_.reset(made);
  Require(rpma_emu_fabric_select(made) == 0, "the fabric is not selected");
  for (size_t i = 0; i < scenario.nodes.size(); ++i) {
    AddNode(i, scenario.nodes[i]);
  }
  for (const auto& from : nodes) {
    const auto route = [&](const std::string& address) {
      Require(rpma_emu_route_add(fabric(), address.c_str(),
                                 from->device.c_str()) == 0,
              "no route to ", address);
    };
    route(SilentAddress(*from));
    for (const auto& to : nodes) {
      const std::string address = AddressOf(*from, *to);
      Require(rpma_emu_address_add(fabric(), address.c_str(),
                                   to->device.c_str()) == 0,
              "no address ", address);
      route(address);
    }
  }
}

void World::AddNode(size_t number, const NodeOptions& options) {
  auto node = std::make_unique<Node>();
  node->number = number;
  node->device = Text("emu", number);
  node->native_flush = options.native_flush;
  node->native_atomic_write = options.native_atomic_write;
  node->limits_rnr_retries = options.limits_rnr_retries;
  if (number > 0) {
    Require(rpma_emu_device_add(fabric(), node->device.c_str(),
                                options.options.c_str()) == 0,
            "no device with the options ", options.options);
  }
  const std::string own = AddressOf(*node, *node);
  Require(
      rpma_emu_address_add(fabric(), own.c_str(), node->device.c_str()) == 0,
      "no address ", own);
  Require(rpma_utils_get_ibv_context(own.c_str(), RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                     &node->context) == 0,
          "no device owns ", own);
  nodes.push_back(std::move(node));
}

std::string World::AddressOf(const Node& from, const Node& to) {
  return Text("10.1.", from.number, ".", to.number + 1);
}

std::string World::SilentAddress(const Node& from) {
  return Text("10.2.", from.number, ".1");
}

void World::BeginCall(const char* function) {
  last_function_ = function;
  errors_before_ = log.errors();
}

void World::EndCall() {
  Require(std::find(std::begin(kCodes), std::end(kCodes), last_rc_) !=
              std::end(kCodes),
          last_function_, "() returned ", last_rc_, ", which is no result");
  if (IsLogged(last_rc_)) {
    Require(log.errors() > errors_before_, last_function_, "() returned ",
            CodeName(last_rc_), " and logged no error");
  }
  NoteFaults();
}

void World::NoteFaults() {
  faults.Refresh(fabric());
  for (const FaultRule* const rule : faults.fired_now()) {
    Say("fault: " + rule->text);
    Mark("fault " + rule->text.substr(0, rule->text.find(' ')));
  }
  ApplyFaults();
}

void World::ApplyFaults() {
  for (const FaultRule* const rule : faults.fired_now()) OnFired(*this, *rule);
}

void World::Expect(Codes allowed) const {
  if (Contains(allowed, last_rc_)) return;
  std::string codes;
  for (const int rc : allowed) {
    codes += (codes.empty() ? "" : " or ") + CodeName(rc);
  }
  Violated(last_function_, "() returned ", CodeName(last_rc_), " where only ",
           codes, " may come");
}

void World::Expect(Codes allowed, bool may_fail) const {
  if (may_fail && last_rc_ == RPMA_E_PROVIDER) return;
  Expect(allowed);
}

void World::ExpectFailure(Codes allowed) const {
  Require(last_rc_ != 0, last_function_,
          "() succeeded, though a provider call failed in it");
  Expect(allowed);
}

void World::Reclaim() {
  Require(rpma_emu_reclaim(fabric()) == 0,
          "what a failing call left alive is in use");
}

std::string World::Result() const { return " -> " + CodeName(last_rc_); }

void World::Say(const std::string& line) {
  for (const char c : line) {
    hash_ = (hash_ ^ static_cast<uint8_t>(c)) * 0x100'0000'01b3;
  }
  if (listener) listener(Text(now, "  ", line));
  last_lines_.push_back(Text(now, "  ", line));
  if (last_lines_.size() > kKeptLines) last_lines_.pop_front();
}

uint64_t World::TraceHash() const {
  uint64_t hash = 0;
  if (is_stepped()) {
    Require(rpma_emu_get_trace_hash(fabric(), &hash) == 0, "there is no hash");
  }
  return hash;
}

void World::CheckMemory() {
  for (const auto& region : regions) region->model->Check(region->bytes());
}

bool World::Step() {
  if (!is_stepped()) return false;
  const int rc = rpma_emu_step(fabric());
  Require(rc == 0 || rc == RPMA_E_NO_EVENT, "a step failed with ",
          CodeName(rc));
  NoteFaults();
  return rc == 0;
}

}  // namespace rpma::sim
