// SPDX-License-Identifier: BSD-3-Clause

#include "tests/conformance/provider.h"

#include <librpma.h>

#include <string_view>

#include "tests/conformance/environment.h"

namespace rpma::test {
namespace {

// Each of these usages registers a region with LOCAL_WRITE.
constexpr int kLocalWriteUsages = RPMA_MR_USAGE_READ_DST |
                                  RPMA_MR_USAGE_WRITE_SRC |
                                  RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_RECV;

constexpr Provider kRoce = {
    .name = "roce",
    .options = "",
    .max_request_data = 56,
    .max_accept_data = 196,
    .private_data_padded = true,
    .passive_waits_for_active = true,
    .disconnect_flushes_peer = false,
    .closed_waits_for_peer = true,
    .send_to_failed_peer = IBV_WC_RETRY_EXC_ERR,
    .time_wait_event = true,
    .failed_accept_rejects = false,
    .serves_loopback_addresses = true,
    .on_demand_paging = false,
    .advise_mr = false,
    .send_with_imm = true,
    .write_with_imm = true,
    .read_dst_usages = kLocalWriteUsages,
    .receive_usages = kLocalWriteUsages,
    .write_dst_usages = RPMA_MR_USAGE_WRITE_DST,
    .atomic_write_opcode = IBV_WC_RDMA_WRITE,
    .native_flush = false,
    .frees_slots_when_polled = true,
    .exact_queue_sizes = true,
    .completes_in_order = true,
    .flushes_late_sends = true,
    .flushes_late_receives = true,
    .waits_for_receive = true,
    .completes_when_sent = false,
    .error_ends_connection = false,
    .unwritable_receive = IBV_WC_LOC_PROT_ERR,
    .short_receive = IBV_WC_LOC_LEN_ERR,
    .too_long_send = IBV_WC_REM_INV_REQ_ERR,
    .unreadable_source = IBV_WC_LOC_PROT_ERR,
};

constexpr Provider kIb = [] {
  Provider ib = kRoce;
  ib.name = "ib";
  ib.on_demand_paging = true;
  ib.advise_mr = true;
  return ib;
}();

constexpr Provider kIwarp = {
    .name = "iwarp",
    .options = "",
    .max_request_data = 251,
    .max_accept_data = 251,
    .private_data_padded = false,
    .passive_waits_for_active = false,
    .disconnect_flushes_peer = true,
    .closed_waits_for_peer = false,
    .send_to_failed_peer = IBV_WC_WR_FLUSH_ERR,
    .time_wait_event = false,
    .failed_accept_rejects = false,
    .serves_loopback_addresses = true,
    .on_demand_paging = false,
    .advise_mr = false,
    .send_with_imm = false,
    .write_with_imm = false,
    // READ responses arrive as writes to the rkey of their destination.
    .read_dst_usages = RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST,
    .receive_usages = kLocalWriteUsages,
    .write_dst_usages = RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_DST,
    .atomic_write_opcode = IBV_WC_RDMA_WRITE,
    .native_flush = false,
    .frees_slots_when_polled = true,
    .exact_queue_sizes = true,
    .completes_in_order = true,
    .flushes_late_sends = true,
    .flushes_late_receives = true,
    .waits_for_receive = false,
    .completes_when_sent = true,
    .error_ends_connection = true,
    .unwritable_receive = IBV_WC_GENERAL_ERR,
    .short_receive = IBV_WC_LOC_LEN_ERR,
    .too_long_send = IBV_WC_REM_INV_REQ_ERR,
    .unreadable_source = IBV_WC_LOC_PROT_ERR,
};

constexpr Provider Nic(const char* name, Provider nic) {
  nic.name = name;
  nic.emulated = false;
  // The kernel refuses the request itself when rdma_accept() fails
  // (drivers/infiniband/core/cma.c).
  nic.failed_accept_rejects = true;
  nic.serves_loopback_addresses = false;
  nic.exact_queue_sizes = false;
  return nic;
}

constexpr Provider kRoceNic = Nic("roce-nic", kRoce);
constexpr Provider kIbNic = Nic("ib-nic", kIb);
constexpr Provider kIwarpNic = Nic("iwarp-nic", kIwarp);

// The kernel's soft-RoCE (drivers/infiniband/sw/rxe).
constexpr Provider kRxe = [] {
  Provider rxe = Nic("rxe", kRoce);
  rxe.frees_slots_when_polled = false;
  rxe.flushes_late_receives = false;
  // Not as the specification wants it: IBTA 9.7.5.2, 9.9.
  rxe.unwritable_receive = IBV_WC_LOC_QP_OP_ERR;
  rxe.short_receive = IBV_WC_LOC_QP_OP_ERR;
  rxe.too_long_send = IBV_WC_REM_OP_ERR;
  rxe.unreadable_source = IBV_WC_LOC_QP_OP_ERR;
  return rxe;
}();

// The kernel's soft-iWARP (drivers/infiniband/sw/siw).
constexpr Provider kSiw = [] {
  Provider siw = Nic("siw", kIwarp);
  siw.frees_slots_when_polled = false;
  // siw_qp_sq_process() of siw_qp_tx.c completes SENDs and WRITEs once they are
  // sent; READs complete with their response.
  siw.completes_in_order = false;
  siw.flushes_late_sends = false;
  siw.flushes_late_receives = false;
  siw.unreadable_source = IBV_WC_LOC_QP_OP_ERR;
  return siw;
}();

constexpr Provider Native(Provider provider) {
  provider.options = "native_atomic_write=on native_flush=on";
  provider.atomic_write_opcode = IBV_WC_ATOMIC_WRITE;
  provider.native_flush = true;
  return provider;
}

constexpr Provider kNativeRoce = Native(kRoce);
constexpr Provider kNativeIb = Native(kIb);
constexpr Provider kNativeIwarp = Native(kIwarp);

// The provider of the device at TestAddress().
const Provider* ProviderOfDevice() {
  ibv_context* context = nullptr;
  if (rpma_utils_get_ibv_context(TestAddress(), RPMA_UTIL_IBV_CONTEXT_LOCAL,
                                 &context) != 0) {
    return nullptr;
  }
  const std::string_view name = ibv_get_device_name(context->device);
  if (name.starts_with("rxe")) return &kRxe;
  if (name.starts_with("siw")) return &kSiw;
  if (context->device->transport_type == IBV_TRANSPORT_IWARP) return &kIwarpNic;
  ibv_port_attr port = {};
  if (ibv_query_port(context, 1, &port) != 0) return nullptr;
  return port.link_layer == IBV_LINK_LAYER_INFINIBAND ? &kIbNic : &kRoceNic;
}

}  // namespace

std::vector<const Provider*> Providers() {
  if (TransportUnderTest() == "emulator") return {&kRoce, &kIb, &kIwarp};
  static const Provider* const provider = ProviderOfDevice();
  if (provider == nullptr) return {};
  return {provider};
}

std::vector<const Provider*> NativeProviders() {
  if (TransportUnderTest() != "emulator") return {};
  return {&kNativeRoce, &kNativeIb, &kNativeIwarp};
}

std::vector<const Provider*> EmulatedProviders() {
  return With(&Provider::emulated, Providers());
}

std::vector<const Provider*> With(bool Provider::*quality,
                                  std::vector<const Provider*> providers) {
  std::erase_if(providers,
                [=](auto* provider) { return !(provider->*quality); });
  return providers;
}

std::vector<const Provider*> Without(bool Provider::*quality,
                                     std::vector<const Provider*> providers) {
  std::erase_if(providers, [=](auto* provider) { return provider->*quality; });
  return providers;
}

std::string ProviderName(
    const ::testing::TestParamInfo<const Provider*>& info) {
  return info.param->name;
}

}  // namespace rpma::test
