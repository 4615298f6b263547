// SPDX-License-Identifier: BSD-3-Clause

#include "tests/faults/program.h"

#include <poll.h>

#include "tests/faults/documented.h"

namespace rpma::faults {

bool GivesUp(std::string_view function) {
  return function == "rpma_conn_delete" || function == "rpma_conn_req_delete" ||
         function == "rpma_srq_delete" ||
         function == "rpma_utils_get_ibv_context";
}

Program::Program(const Place& place, const Policy& policy)
    : place_(place), policy_(policy) {}

Program::Moment Program::BeginCall() const {
  place_.log->BeginCall();
  return {.errors = place_.log->errors(),
          .deadlocks = place_.log->deadlocks(),
          .fired = fired_};
}

void Program::CountFaults() {
  rpma_emu_fault_counts counts = {};
  rpma_emu_get_fault_counts(place_.fabric, &counts);
  fired_ = counts.fired + (place_.allocator->Fired() ? 1 : 0);
}

void Program::Check(const char* name, const Moment& before, int rc) {
  CountFaults();
  stuck_ = place_.log->deadlocks() != before.deadlocks;
  if (first_struck_ == nullptr && fired_ != 0) first_struck_ = name;
  if (rc == 0) {
    CheckSuccess(name, before);
  } else {
    CheckFailure(name, before, rc);
  }
}

void Program::CheckSuccess(const char* name, const Moment& before) {
  if (place_.log->errors() != before.errors) {
    findings().Add("%s succeeded and logged: %s", name, place_.log->latest());
  }
  if (policy_.fails_calls && fired_ != before.fired) {
    findings().Add("%s succeeded though something failed in it", name);
  }
}

void Program::CheckFailure(const char* name, const Moment& before, int rc) {
  const char* const what = rpma_err_2str(rc);
  // Where two things fail, one can hit what unwinds the other.
  gave_up_ |= GivesUp(name) || !policy_.fails_once || may_fail_;
  if (!IsDocumented(name, rc)) {
    findings().Add("%s returned %d (%s), which is not documented", name, rc,
                   what);
  }
  const bool empty =
      rc == RPMA_E_NO_COMPLETION && std::string_view(name) == "rpma_cq_get_wc";
  if (empty) return;
  const bool logged = place_.log->errors() != before.errors;
  if (!logged && rc != RPMA_E_NO_EVENT && rc != RPMA_E_NO_COMPLETION) {
    findings().Add("%s failed (%s) and logged nothing", name, what);
  }
  if (stuck_ && !may_get_stuck_) {
    findings().Add("%s waits for ever", name);
  } else if (fired_ == 0 && !may_fail_) {
    findings().Add("%s failed without a fault: %s; %s", name, what,
                   place_.log->latest());
  }
}

bool Program::IsReadable(int fd) {
  pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) == 1;
}

int Program::AwaitReadable(int fd, int other) {
  pollfd fds[] = {{.fd = fd, .events = POLLIN, .revents = 0},
                  {.fd = other, .events = POLLIN, .revents = 0}};
  while (poll(fds, 2, 0) == 0) {
    const test::FailingAllocator hidden;  // steps are the emulator's
    if (rpma_emu_step(place_.fabric) != 0) return -1;
  }
  return fds[0].revents != 0 ? fd : other;
}

void Program::LeaveBehind(const LeftBehind& what) {
  gave_up_ = true;
  if (left_behind_count_ < kMostLeftBehind) {
    left_behind_[left_behind_count_++] = what;
  } else {
    findings().Add("more is left behind than there is room for");
  }
}

void Program::AwaitLater(Owned<rpma_conn>* conn) {
  LeaveBehind({Turn::kAfterReclaim, conn->Release(), &HearOfTheEnd});
}

void Program::HearOfTheEnd(Program& program, void* handle) {
  auto* conn = static_cast<rpma_conn*>(handle);
  rpma_conn_event event = RPMA_CONN_ESTABLISHED;
  while (event == RPMA_CONN_ESTABLISHED) {
    if (RPMA_CALL(program, rpma_conn_next_event, conn, &event) != 0) {
      program.findings().Add("a side never hears of the other's end");
      break;
    }
  }
  EndNow<rpma_conn>(program, conn);
}

void Program::EndLeftBehind(Turn turn) {
  for (size_t i = 0; i < left_behind_count_; ++i) {
    const LeftBehind& what = left_behind_[i];
    if (what.turn == turn) what.end(*this, what.handle);
  }
}

void Program::Settle() {
  CountFaults();  // anew
  EndLeftBehind(Turn::kFirst);
  {
    const test::FailingAllocator hidden;  // what is reclaimed is the emulator's
    if (rpma_emu_reclaim(place_.fabric) != 0) {
      findings().Add("what failing calls left alive is in use");
    }
  }
  EndLeftBehind(Turn::kAfterReclaim);
  EndLeftBehind(Turn::kLast);
}

}  // namespace rpma::faults
