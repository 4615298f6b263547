// SPDX-License-Identifier: BSD-3-Clause
// The functions of librpma_emu.h: a fabric of a test is one in each process,
// which get the same devices and plans, and whose objects and faults are
// counted together.

#include <librpma_emu.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <mutex>

#include "tests/support/two_processes/real.h"
#include "tests/support/two_processes/route.h"

namespace rpma::test::two_processes {
namespace {

using Text = std::array<char, 512>;

// The fabrics of the test's process, and with each the helper's.
struct Fabrics {
  rpma_emu_fabric* here;
  rpma_emu_fabric* in_helper;
};
std::mutex mutex;
Fabrics fabrics[16];

// nullptr: the helper has none.
rpma_emu_fabric* InHelper(const rpma_emu_fabric* here) {
  if (!IsRunning() || here == nullptr) return nullptr;
  const std::lock_guard lock(mutex);
  for (const Fabrics& both : fabrics) {
    if (both.here == here) return both.in_helper;
  }
  return nullptr;
}

void Replace(const rpma_emu_fabric* here, const Fabrics& by) {
  const std::lock_guard lock(mutex);
  for (Fabrics& both : fabrics) {
    if (both.here != here) continue;
    both = by;
    return;
  }
}

// Calls it for both fabrics, unless it fails for the first.
template <auto Function, typename... Locals>
int CallForBoth(const char* name, rpma_emu_fabric* fabric, Locals... locals) {
  const int rc = Function(fabric, locals...);
  rpma_emu_fabric* const in_helper = InHelper(fabric);
  if (rc != 0 || in_helper == nullptr) return rc;
  return CallInHelper<Function>(name, in_helper, locals...);
}

int Explain(rpma_emu_fabric* fabric, uint32_t qp_num, Text* text) {
  return __real_rpma_emu_explain(fabric, qp_num, text->data(), text->size());
}

// Of the device of the server's side.
int GetAsyncEvent(rpma_emu_fabric* fabric, ibv_async_event* event) {
  ibv_context* context = nullptr;
  const int rc = __real_rpma_utils_get_ibv_context(
      "127.0.0.1", RPMA_UTIL_IBV_CONTEXT_LOCAL, &context);
  if (rc != 0) return rc;
  return __real_rpma_emu_get_async_event(fabric, context, event);
}

}  // namespace
}  // namespace rpma::test::two_processes

using namespace rpma::test::two_processes;  // NOLINT

extern "C" {

decltype(rpma_emu_fabric_new) __wrap_rpma_emu_fabric_new;
int __wrap_rpma_emu_fabric_new(const char* options,
                               rpma_emu_fabric** fabric_ptr) {
  const int rc = __real_rpma_emu_fabric_new(options, fabric_ptr);
  if (rc != 0 || !IsRunning()) return rc;
  rpma_emu_fabric* in_helper = nullptr;
  const int far = CallInHelper<&__real_rpma_emu_fabric_new>(
      "rpma_emu_fabric_new", options, &in_helper);
  if (far == 0) Replace(nullptr, {*fabric_ptr, in_helper});
  return far;
}

decltype(rpma_emu_fabric_delete) __wrap_rpma_emu_fabric_delete;
int __wrap_rpma_emu_fabric_delete(rpma_emu_fabric** fabric_ptr) {
  rpma_emu_fabric* const here = fabric_ptr == nullptr ? nullptr : *fabric_ptr;
  rpma_emu_fabric* in_helper = InHelper(here);
  if (in_helper != nullptr) {
    const int far = CallInHelper<&__real_rpma_emu_fabric_delete>(
        "rpma_emu_fabric_delete", &in_helper);
    if (far != 0) return far;
    Replace(here, {nullptr, nullptr});
  }
  return __real_rpma_emu_fabric_delete(fabric_ptr);
}

#define FOR_BOTH(function, parameters, ...)                         \
  int __wrap_##function parameters;                                 \
  int __wrap_##function parameters {                                \
    return CallForBoth<&__real_##function>(#function, __VA_ARGS__); \
  }
FOR_BOTH(rpma_emu_fabric_select, (rpma_emu_fabric * fabric), fabric)
FOR_BOTH(rpma_emu_device_add,
         (rpma_emu_fabric * fabric, const char* name, const char* options),
         fabric, name, options)
FOR_BOTH(rpma_emu_address_add,
         (rpma_emu_fabric * fabric, const char* address, const char* device),
         fabric, address, device)
FOR_BOTH(rpma_emu_route_add,
         (rpma_emu_fabric * fabric, const char* address, const char* device),
         fabric, address, device)
FOR_BOTH(rpma_emu_set_faults, (rpma_emu_fabric * fabric, const char* plan),
         fabric, plan)
FOR_BOTH(rpma_emu_reclaim, (rpma_emu_fabric * fabric), fabric)
#undef FOR_BOTH

decltype(rpma_emu_get_fired) __wrap_rpma_emu_get_fired;
int __wrap_rpma_emu_get_fired(rpma_emu_fabric* fabric, size_t rule,
                              uint64_t* fired) {
  const int rc = __real_rpma_emu_get_fired(fabric, rule, fired);
  rpma_emu_fabric* const in_helper = InHelper(fabric);
  if (rc != 0 || in_helper == nullptr) return rc;
  uint64_t more = 0;
  const int far = CallInHelper<&__real_rpma_emu_get_fired>(
      "rpma_emu_get_fired", in_helper, rule, &more);
  *fired += more;
  return far;
}

decltype(rpma_emu_get_census) __wrap_rpma_emu_get_census;
int __wrap_rpma_emu_get_census(const rpma_emu_fabric* fabric,
                               rpma_emu_census* census) {
  const int rc = __real_rpma_emu_get_census(fabric, census);
  const rpma_emu_fabric* const in_helper = InHelper(fabric);
  if (rc != 0 || in_helper == nullptr) return rc;
  rpma_emu_census more = {};
  const int far = CallInHelper<&__real_rpma_emu_get_census>(
      "rpma_emu_get_census", in_helper, &more);
  for (uint32_t rpma_emu_census::*number :
       {&rpma_emu_census::pds, &rpma_emu_census::mrs,
        &rpma_emu_census::comp_channels, &rpma_emu_census::cqs,
        &rpma_emu_census::srqs, &rpma_emu_census::qps, &rpma_emu_census::cm_ids,
        &rpma_emu_census::event_channels, &rpma_emu_census::unacked_events}) {
    census->*number += more.*number;
  }
  return far;
}

// Queue pairs of both processes may have one number.
decltype(rpma_emu_explain) __wrap_rpma_emu_explain;
int __wrap_rpma_emu_explain(rpma_emu_fabric* fabric, uint32_t qp_num,
                            char* text, size_t size) {
  rpma_emu_fabric* const in_helper = InHelper(fabric);
  if (in_helper == nullptr ||
      !(HasAllObjects() || rpma::test::ServersSide::IsActive())) {
    return __real_rpma_emu_explain(fabric, qp_num, text, size);
  }
  Text in_frame = {};
  const int rc =
      CallInHelper<&Explain>("rpma_emu_explain", in_helper, qp_num, &in_frame);
  if (rc == 0) std::snprintf(text, size, "%s", in_frame.data());
  return rc;
}

// The device is one in each process: its events are those of both.
decltype(rpma_emu_get_async_event) __wrap_rpma_emu_get_async_event;
int __wrap_rpma_emu_get_async_event(rpma_emu_fabric* fabric,
                                    ibv_context* context,
                                    ibv_async_event* event) {
  if (!IsFar(context)) {
    const int rc = __real_rpma_emu_get_async_event(fabric, context, event);
    if (rc != RPMA_E_NO_EVENT) return rc;
  }
  rpma_emu_fabric* const in_helper = InHelper(fabric);
  if (in_helper == nullptr) return RPMA_E_NO_EVENT;
  return CallInHelper<&GetAsyncEvent>("rpma_emu_get_async_event", in_helper,
                                      event);
}

}  // extern "C"
