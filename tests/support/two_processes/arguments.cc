// SPDX-License-Identifier: BSD-3-Clause

#include "tests/support/two_processes/arguments.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "tests/support/two_processes/real.h"

namespace rpma::test::two_processes {
namespace {

// Of what must not fail: it only copies.
void Check(int rc) {
  if (rc == 0) return;
  std::fprintf(stderr, "a configuration does not cross: %s\n",
               rpma_err_2str(rc));
  std::abort();
}

std::mutex mutex;
std::map<const rpma_mr_remote*, std::array<uint8_t, 21>> descriptors;

}  // namespace

void Argument<const rpma_conn_private_data*>::Put(
    const rpma_conn_private_data* local) {
  is_null = local == nullptr;
  if (is_null) return;
  has_bytes = local->ptr != nullptr;
  data.len = local->len;
  if (has_bytes) std::memcpy(bytes, local->ptr, local->len);
}

const rpma_conn_private_data* Argument<const rpma_conn_private_data*>::Get() {
  if (is_null) return nullptr;
  data.ptr = has_bytes ? bytes : nullptr;
  return &data;
}

void Argument<rpma_conn_private_data*>::Put(rpma_conn_private_data* local) {
  is_null = local == nullptr;
  data = {};
}

void Argument<rpma_conn_private_data*>::Done(int result) {
  if (result != 0 || data.ptr == nullptr) return;
  std::memcpy(bytes, data.ptr, data.len);
}

void Argument<rpma_conn_private_data*>::Take(rpma_conn_private_data* local,
                                             const After& after) {
  if (is_null || after.result != 0) return;
  *local = data;
  if (data.ptr == nullptr) return;
  auto& copy = PrivateDataOf(after.object);
  std::copy_n(bytes, data.len, copy.begin());
  local->ptr = copy.data();
}

bool Argument<const char*>::Fits(const char* local) {
  return local == nullptr || std::strlen(local) < sizeof(text);
}

void Argument<const char*>::Put(const char* local) {
  is_null = local == nullptr;
  if (!is_null) std::memcpy(text, local, std::strlen(local) + 1);
}

bool Argument<const rpma_conn_cfg*>::Fits(const rpma_conn_cfg* local) {
  rpma_srq* srq = nullptr;
  if (local != nullptr) Check(rpma_conn_cfg_get_srq(local, &srq));
  return Argument<rpma_srq*>::Fits(srq);
}

void Argument<const rpma_conn_cfg*>::Put(const rpma_conn_cfg* local) {
  is_null = local == nullptr;
  if (is_null) return;
  Check(rpma_conn_cfg_get_timeout(local, &timeout_ms));
  Check(rpma_conn_cfg_get_cq_size(local, &cq_size));
  Check(rpma_conn_cfg_get_rcq_size(local, &rcq_size));
  Check(rpma_conn_cfg_get_sq_size(local, &sq_size));
  Check(rpma_conn_cfg_get_rq_size(local, &rq_size));
  Check(rpma_conn_cfg_get_compl_channel(local, &shared));
  Check(rpma_conn_cfg_get_srq(local, &srq));
  if (srq != nullptr) srq = static_cast<rpma_srq*>(RealOf(srq));
}

const rpma_conn_cfg* Argument<const rpma_conn_cfg*>::Get() {
  made = nullptr;
  if (is_null) return nullptr;
  Check(rpma_conn_cfg_new(&made));
  Check(rpma_conn_cfg_set_timeout(made, timeout_ms));
  Check(rpma_conn_cfg_set_cq_size(made, cq_size));
  Check(rpma_conn_cfg_set_rcq_size(made, rcq_size));
  Check(rpma_conn_cfg_set_sq_size(made, sq_size));
  Check(rpma_conn_cfg_set_rq_size(made, rq_size));
  Check(rpma_conn_cfg_set_compl_channel(made, shared));
  if (srq != nullptr) Check(rpma_conn_cfg_set_srq(made, srq));
  return made;
}

void Argument<const rpma_conn_cfg*>::Done(int /*result*/) {
  Check(rpma_conn_cfg_delete(&made));
}

void Argument<rpma_srq_cfg*>::Put(const rpma_srq_cfg* local) {
  is_null = local == nullptr;
  if (is_null) return;
  Check(rpma_srq_cfg_get_rq_size(local, &rq_size));
  Check(rpma_srq_cfg_get_rcq_size(local, &rcq_size));
}

rpma_srq_cfg* Argument<rpma_srq_cfg*>::Get() {
  made = nullptr;
  if (is_null) return nullptr;
  Check(rpma_srq_cfg_new(&made));
  Check(rpma_srq_cfg_set_rq_size(made, rq_size));
  Check(rpma_srq_cfg_set_rcq_size(made, rcq_size));
  return made;
}

void Argument<rpma_srq_cfg*>::Done(int /*result*/) {
  Check(rpma_srq_cfg_delete(&made));
}

void Argument<const rpma_peer_cfg*>::Put(const rpma_peer_cfg* local) {
  is_null = local == nullptr;
  if (!is_null) Check(rpma_peer_cfg_get_descriptor(local, &descriptor));
}

const rpma_peer_cfg* Argument<const rpma_peer_cfg*>::Get() {
  made = nullptr;
  if (is_null) return nullptr;
  Check(rpma_peer_cfg_from_descriptor(&descriptor, 1, &made));
  return made;
}

void Argument<const rpma_peer_cfg*>::Done(int /*result*/) {
  Check(rpma_peer_cfg_delete(&made));
}

void Argument<const rpma_mr_remote*>::Put(const rpma_mr_remote* local) {
  is_null = local == nullptr;
  if (is_null) return;
  const std::lock_guard lock(mutex);
  descriptor = descriptors.at(local);
}

rpma_mr_remote* Argument<const rpma_mr_remote*>::Get() {
  made = nullptr;
  if (is_null) return nullptr;
  Check(__real_rpma_mr_remote_from_descriptor(descriptor.data(),
                                              descriptor.size(), &made));
  return made;
}

void Argument<const rpma_mr_remote*>::Done(int /*result*/) {
  Check(__real_rpma_mr_remote_delete(&made));
}

void Remember(const rpma_mr_remote* region, const void* descriptor) {
  const std::lock_guard lock(mutex);
  auto& copy = descriptors[region];
  std::memcpy(copy.data(), descriptor, copy.size());
}

void ForgetRemote(const rpma_mr_remote* region) {
  const std::lock_guard lock(mutex);
  descriptors.erase(region);
}

}  // namespace rpma::test::two_processes
