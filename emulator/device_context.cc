// SPDX-License-Identifier: BSD-3-Clause
// The ibv_context of an emulated device and the verbs that it serves.

#include "emulator/device_context.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "emulator/completion_queue.h"
#include "emulator/device.h"
#include "emulator/queue_pair.h"
#include "emulator/shared_receive_queue.h"

namespace rpma::emu {
namespace {

int PostSend(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad_wr) {
  return static_cast<QueuePair*>(qp)->PostSend(wr, bad_wr);
}

int PostRecv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return static_cast<QueuePair*>(qp)->PostRecv(wr, bad_wr);
}

int PostSrqRecv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) {
  return static_cast<SharedReceiveQueue*>(srq)->PostRecv(wr, bad_wr);
}

int PollCq(ibv_cq* cq, int capacity, ibv_wc* wc) {
  return static_cast<CompletionQueue*>(cq)->Poll(capacity, wc);
}

int RequestNotification(ibv_cq* cq, int solicited_only) {
  static_cast<CompletionQueue*>(cq)->Arm(solicited_only != 0);
  return 0;
}

ibv_mw* AllocMw(ibv_pd*, ibv_mw_type) {
  errno = EOPNOTSUPP;
  return nullptr;
}

int BindMw(ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; }

int DeallocMw(ibv_mw*) { return EOPNOTSUPP; }

void FillDeviceAttributes(const Profile& profile, uint64_t guid,
                          ibv_device_attr* attr) {
  const DeviceLimits& limits = profile.limits;
  const auto as_int = [](uint32_t limit) {
    return static_cast<int>(std::min<uint32_t>(limit, INT32_MAX));
  };
  std::snprintf(attr->fw_ver, sizeof(attr->fw_ver), "emulated");
  attr->node_guid = attr->sys_image_guid = guid;
  attr->max_mr_size = limits.max_mr_size;
  attr->page_size_cap = ~uint64_t{0} << 12;
  attr->max_qp = as_int(limits.max_qp);
  attr->max_qp_wr = as_int(limits.max_qp_wr);
  attr->max_sge = as_int(limits.max_sge);
  attr->max_sge_rd = as_int(limits.max_sge_rd);
  attr->max_cq = as_int(limits.max_cq);
  attr->max_cqe = as_int(limits.max_cqe);
  attr->max_mr = as_int(limits.max_mr);
  attr->max_pd = as_int(limits.max_pd);
  attr->max_qp_rd_atom = limits.max_qp_rd_atom;
  attr->max_qp_init_rd_atom = limits.max_qp_init_rd_atom;
  attr->max_res_rd_atom = as_int(limits.max_qp * limits.max_qp_rd_atom);
  attr->atomic_cap = IBV_ATOMIC_NONE;
  attr->max_srq = as_int(limits.max_srq);
  attr->max_srq_wr = as_int(limits.max_srq_wr);
  attr->max_srq_sge = as_int(limits.max_sge);
  attr->max_pkeys = 1;
  attr->phys_port_cnt = 1;
}

int QueryDeviceEx(ibv_context* context, const ibv_query_device_ex_input* input,
                  ibv_device_attr_ex* attr, size_t size) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  if (DeviceContext::DeviceOf(context)->health().IsRemoved()) return EIO;
  const Profile& profile = DeviceContext::DeviceOf(context)->profile();
  ibv_device_attr_ex all{};
  FillDeviceAttributes(profile, DeviceContext::DeviceOf(context)->guid(),
                       &all.orig_attr);
  if (profile.on_demand_paging) {
    all.odp_caps.general_caps = IBV_ODP_SUPPORT;
    all.odp_caps.per_transport_caps.rc_odp_caps =
        IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
        IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_SRQ_RECV;
  }
  all.phys_port_cnt_ex = 1;
  std::memcpy(attr, &all, std::min(size, sizeof(all)));
  return 0;
}

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attr,
              size_t size) {
  if (port != 1) return EINVAL;
  const DeviceHealth& health = DeviceContext::DeviceOf(context)->health();
  if (health.IsRemoved()) return EIO;
  const Profile& profile = DeviceContext::DeviceOf(context)->profile();
  ibv_port_attr all{};
  all.state = health.IsLinkUp() ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  all.max_mtu = all.active_mtu = IBV_MTU_4096;
  all.gid_tbl_len = 1;
  all.max_msg_sz = profile.limits.max_msg_sz;
  all.pkey_tbl_len = 1;
  if (profile.link_layer == IBV_LINK_LAYER_INFINIBAND) all.lid = all.sm_lid = 1;
  all.max_vl_num = 1;
  all.active_width = 2;                        // 4x
  all.active_speed = 32;                       // EDR
  all.phys_state = health.IsLinkUp() ? 5 : 3;  // LinkUp, Disabled
  all.link_layer = profile.link_layer;
  std::memcpy(attr, &all, std::min(size, sizeof(all)));
  return 0;
}

}  // namespace

DeviceContext::DeviceContext(Device& device, const std::string& name,
                             const Profile& profile, int async_fd)
    : guard_page_(mmap(nullptr, static_cast<size_t>(getpagesize()), PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  if (guard_page_ == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  device_.node_type =
      profile.transport == IBV_TRANSPORT_IWARP ? IBV_NODE_RNIC : IBV_NODE_CA;
  device_.transport_type = profile.transport;
  std::snprintf(device_.name, sizeof(device_.name), "%s", name.c_str());
  std::snprintf(device_.dev_name, sizeof(device_.dev_name), "%s", name.c_str());

  fields_.owner = &device;
  fields_.verbs.query_port = QueryPort;
  fields_.verbs.query_device_ex = QueryDeviceEx;
  fields_.verbs.priv = static_cast<verbs_ex_private*>(guard_page_);
  fields_.verbs.sz = sizeof(verbs_context);
  ibv_context& context = fields_.verbs.context;
  context.device = &device_;
  context.ops.alloc_mw = AllocMw;
  context.ops.bind_mw = BindMw;
  context.ops.dealloc_mw = DeallocMw;
  context.ops.poll_cq = PollCq;
  context.ops.req_notify_cq = RequestNotification;
  context.ops.post_srq_recv = PostSrqRecv;
  context.ops.post_send = PostSend;
  context.ops.post_recv = PostRecv;
  context.cmd_fd = -1;
  context.async_fd = async_fd;
  context.num_comp_vectors = 1;
  pthread_mutex_init(&context.mutex, nullptr);
  context.abi_compat = __VERBS_ABI_IS_EXTENDED;
}

DeviceContext::~DeviceContext() {
  pthread_mutex_destroy(&context()->mutex);
  munmap(guard_page_, static_cast<size_t>(getpagesize()));
}

Device* DeviceContext::DeviceOf(ibv_context* context) {
  if (context == nullptr || context->ops.post_send != PostSend) return nullptr;
  char* const fields = reinterpret_cast<char*>(context) -
                       offsetof(verbs_context, context) -
                       offsetof(Fields, verbs);
  return reinterpret_cast<Fields*>(fields)->owner;
}

}  // namespace rpma::emu
