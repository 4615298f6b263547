// SPDX-License-Identifier: BSD-3-Clause
// Setting up one side of a connection, its events, and its end.

#include "tests/faults/side.h"

#include <cstring>

namespace rpma::faults {
namespace {

constexpr int kUsage = RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST |
                       RPMA_MR_USAGE_WRITE_SRC | RPMA_MR_USAGE_WRITE_DST |
                       RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
                       RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT |
                       RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV;

// How often a program waits again if nothing came of a wait.
constexpr int kPatience = 3;

bool IsTheEnd(rpma_conn_event event) {
  return event != RPMA_CONN_ESTABLISHED && event != RPMA_CONN_UNDEFINED;
}

}  // namespace

Side::Side(Program& program, Role role, const SideOptions& options)
    : program_(program),
      role_(role),
      name_(role == Role::kClient ? "the client" : "the server"),
      node_(role == Role::kClient ? program.place().client
                                  : program.place().server),
      options_(options),
      peer(program),
      mr(program),
      remote(program),
      srq(program),
      cfg(program),
      request(program),
      conn(program) {}

bool Side::Did(int rc) {
  if (rc != 0) failed_ = true;
  return rc == 0;
}

bool Side::Open() {
  ibv_context* context = nullptr;
  return Did(RPMA_CALL(program_, rpma_utils_get_ibv_context, node_.address,
                       RPMA_UTIL_IBV_CONTEXT_LOCAL, &context)) &&
         Did(RPMA_CREATE(program_, peer, rpma_peer_new, context)) &&
         Did(RPMA_CREATE(program_, mr, rpma_mr_reg, peer, node_.memory,
                         Program::kMemorySize, kUsage)) &&
         Configure() && Introduce();
}

bool Side::Configure() {
  if (options_.srq && !MakeSrq()) return false;
  if (!options_.srq && !options_.shared_channel && options_.rcq_size == 0) {
    return true;  // with the default configuration
  }
  return Did(RPMA_CREATE(program_, cfg, rpma_conn_cfg_new)) &&
         Did(RPMA_CALL(program_, rpma_conn_cfg_set_rcq_size, cfg,
                       options_.rcq_size)) &&
         Did(RPMA_CALL(program_, rpma_conn_cfg_set_compl_channel, cfg,
                       options_.shared_channel)) &&
         (!options_.srq ||
          Did(RPMA_CALL(program_, rpma_conn_cfg_set_srq, cfg, srq)));
}

bool Side::MakeSrq() {
  Owned<rpma_srq_cfg> srq_cfg(program_);
  return Did(RPMA_CREATE(program_, srq_cfg, rpma_srq_cfg_new)) &&
         Did(RPMA_CALL(program_, rpma_srq_cfg_set_rcq_size, srq_cfg,
                       options_.srq_rcq_size)) &&
         Did(RPMA_CREATE(program_, srq, rpma_srq_new, peer, srq_cfg));
}

bool Side::Introduce() {
  return Did(RPMA_CALL(program_, rpma_mr_get_descriptor, mr,
                       &introduction_.region)) &&
         DescribePeer();
}

bool Side::DescribePeer() {
  Owned<rpma_peer_cfg> peer_cfg(program_);
  return Did(RPMA_CREATE(program_, peer_cfg, rpma_peer_cfg_new)) &&
         Did(RPMA_CALL(program_, rpma_peer_cfg_set_direct_write_to_pmem,
                       peer_cfg, options_.direct_write_to_pmem)) &&
         Did(RPMA_CALL(program_, rpma_peer_cfg_get_descriptor, peer_cfg,
                       &introduction_.peer_cfg));
}

bool Side::MakeRequest() {
  return Did(RPMA_CREATE(program_, request, rpma_conn_req_new, peer,
                         program_.place().server.address, kPort, cfg));
}

bool Side::TakeRequest(rpma_ep* endpoint) {
  rpma_conn_private_data data = {};
  return Did(RPMA_CREATE(program_, request, rpma_ep_next_conn_req, endpoint,
                         cfg)) &&
         Did(RPMA_CALL(program_, rpma_conn_req_get_private_data, request,
                       &data)) &&
         MeetPeer(data);
}

bool Side::MeetPeer(const rpma_conn_private_data& data) {
  Introduction other;
  if (data.len < sizeof(other)) {
    program_.findings().Add("%s got no introduction", name_);
    return false;
  }
  std::memcpy(&other, data.ptr, sizeof(other));
  return Did(RPMA_CREATE(program_, remote, rpma_mr_remote_from_descriptor,
                         &other.region, sizeof(other.region)));
}

bool Side::ApplyPeerCfg(const rpma_conn_private_data& data) {
  Introduction other;
  std::memcpy(&other, data.ptr, sizeof(other));
  if (other.peer_cfg[0] == 0) return true;  // what holds anyway
  Owned<rpma_peer_cfg> peer_cfg(program_);
  return Did(RPMA_CREATE(program_, peer_cfg, rpma_peer_cfg_from_descriptor,
                         &other.peer_cfg, sizeof(other.peer_cfg))) &&
         Did(RPMA_CALL(program_, rpma_conn_apply_remote_peer_cfg, conn,
                       peer_cfg));
}

bool Side::Connect() {
  const rpma_conn_private_data data = {.ptr = &introduction_,
                                       .len = sizeof(introduction_)};
  const bool did = Did(RPMA_CREATE(program_, conn, rpma_conn_req_connect,
                                   request.address(), &data));
  if (request != nullptr) {
    program_.findings().Add("rpma_conn_req_connect left the request");
    request.End();
  }
  return did && GetQueues();
}

bool Side::GetQueues() {
  if (!Did(RPMA_CALL(program_, rpma_conn_get_cq, conn, &cq)) ||
      !Did(RPMA_CALL(program_, rpma_conn_get_rcq, conn, &rcq))) {
    return false;
  }
  if (rcq == nullptr && options_.srq_rcq_size > 0) {
    if (!Did(RPMA_CALL(program_, rpma_srq_get_rcq, srq, &rcq))) return false;
  }
  if (rcq == nullptr) rcq = cq;
  return true;
}

bool Side::AwaitEstablished() {
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  {
    const Program::Scope scope(program_, Program::Leave::kToGetStuck);
    NextEvent(&event);
  }
  if (program_.stuck() && !Excuses(true)) {
    program_.findings().Add("%s waits for ever to be connected", name_);
  }
  if (event != RPMA_CONN_ESTABLISHED) {
    failed_ = true;
    return false;
  }
  established_ = true;
  if (remote != nullptr) return true;  // met with the request
  rpma_conn_private_data data = {};
  return Did(RPMA_CALL(program_, rpma_conn_get_private_data, conn, &data)) &&
         MeetPeer(data) && ApplyPeerCfg(data);
}

bool Side::NextEvent(rpma_conn_event* event) {
  int rc = RPMA_E_NO_EVENT;
  for (int i = 0; i < kPatience && rc == RPMA_E_NO_EVENT; ++i) {
    rpma_conn_event next = RPMA_CONN_UNDEFINED;
    rc = RPMA_CALL(program_, rpma_conn_next_event, conn, &next);
    if (rc == 0) {
      *event = next;
      over_ |= IsTheEnd(next);
    } else if (next != RPMA_CONN_UNDEFINED) {
      program_.findings().Add("rpma_conn_next_event failed and gave an event");
    }
  }
  return Did(rc);
}

bool Side::Disconnect() {
  return Did(RPMA_CALL(program_, rpma_conn_disconnect, conn));
}

// Whether waiting for ever is what the plan leads to.
bool Side::Excuses(bool of_the_other_side) const {
  const Policy& policy = program_.policy();
  if (policy.dead == role_) return true;
  return of_the_other_side && policy.silent;
}

bool Side::HearsOfTheEnd() {
  const Program::Scope scope(program_, Program::Leave::kToGetStuck);
  rpma_conn_event event = RPMA_CONN_UNDEFINED;
  while (!over_ && NextEvent(&event)) {
  }
  return !program_.stuck();
}

bool Side::HearOfTheEnd() {
  if (over_) return true;
  if (failed_ || conn == nullptr) return false;
  if (HearsOfTheEnd()) return over_;
  const Policy& policy = program_.policy();
  if (policy.dead == role_) return false;
  if (Excuses(true)) {
    // It asks: its own retries tell it.
    failed_ = false;
    if (!established_ || !Disconnect() || HearsOfTheEnd()) return over_;
  } else if (policy.fails_calls) {
    program_.AwaitLater(&conn);
    established_ = false;
    return false;
  }
  program_.findings().Add("%s never hears of the end", name_);
  return false;
}

void Side::GoAway() {
  request.End();
  conn.End();
  established_ = false;
}

void Side::StartAnew() {
  remote.End();
  failed_ = established_ = over_ = false;
}

void Side::Fill(size_t offset, size_t size, uint8_t first) const {
  for (size_t i = 0; i < size; ++i) {
    node_.memory[offset + i] = static_cast<uint8_t>(first + i);
  }
}

bool Side::Holds(size_t offset, size_t size, uint8_t first) const {
  for (size_t i = 0; i < size; ++i) {
    if (node_.memory[offset + i] == static_cast<uint8_t>(first + i)) continue;
    program_.findings().Add("%s lacks byte %zu of what was acknowledged", name_,
                            offset + i);
    return false;
  }
  return true;
}

}  // namespace rpma::faults
