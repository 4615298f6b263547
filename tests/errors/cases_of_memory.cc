// SPDX-License-Identifier: BSD-3-Clause
// Regions, own and remote.

#include <array>
#include <cstdint>

#include "tests/errors/cases.h"

namespace rpma::test {
namespace {

constexpr char kServerAddress[] = "10.7.0.2";

using Bytes = std::array<uint8_t, 64>;

WorldOptions With(const std::string& profile) { return {.profile = profile}; }

// A region that is paged in on demand.
LocalMr& OnDemand(Stage& stage, rpma_peer* peer, int usage) {
  LocalMr& mr = stage.Keep(LocalMr());
  Bytes& bytes = stage.Keep(Bytes());
  stage.emulation().SetFaults("fail ibv_reg_mr errno=EOPNOTSUPP");
  EXPECT_THAT(
      rpma_mr_reg(peer, bytes.data(), bytes.size(), usage, mr.address()),
      IsOk());
  stage.emulation().SetFaults("");
  return mr;
}

Call Advise(Stage& stage) {
  return RPMA_CALL(rpma_mr_advise,
                   OnDemand(stage, stage.client_peer(), RPMA_MR_USAGE_RECV), 8u,
                   16u, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0u);
}

// The region cannot be written.
Call AdviseToWriteWhatIsSent(Stage& stage) {
  return RPMA_CALL(rpma_mr_advise,
                   OnDemand(stage, stage.client_peer(), RPMA_MR_USAGE_SEND), 8u,
                   16u, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0u);
}

// The server's device takes no advice.
WorldOptions WithDeviceThatTakesNoAdvice() {
  return {.profile = "ib",
          .extend =
              [](Emulation& emulation) {
                emulation.AddDevice("emu1", "profile=ib advise_mr=off",
                                    kServerAddress);
              },
          .server_address = kServerAddress};
}

Call AdviseOnServer(Stage& stage) {
  return RPMA_CALL(rpma_mr_advise,
                   OnDemand(stage, stage.server_peer(), RPMA_MR_USAGE_RECV), 8u,
                   16u, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0u);
}

void AddAdvice(Registry& registry) {
  registry.Of("rpma_mr_advise", Advise, With("ib"))
      .Add("RPMA_E_INVAL", "range:offset+len:out_of_bounds",
           {WithNumber("offset", 65).Logging({"offset 65 ... 64 bytes"}),
            WithNumber("len", 57).Logging({"57 bytes ... 64 bytes"}),
            WithNumber("len", -8).Logging({"64 bytes"})})
      .Add("RPMA_E_INVAL", "state:usage_disallows_advice",
           Otherwise(AdviseToWriteWhatIsSent, "ibv_advise_mr...usage"))
      .Add("RPMA_E_INVAL", "range:flags:invalid",
           WithNumber("flags", 0x80).Logging({"ibv_advise_mr...flags=0x80"}))
      .Add("RPMA_E_INVAL", "call:ibv_advise_mr if:ret==EINVAL|ret==EFAULT",
           {Failing("ibv_advise_mr", EINVAL), Failing("ibv_advise_mr", EFAULT)})
      .Add("RPMA_E_NOSUPP", "state:advise_unsupported",
           {WithNumber("advice", 99).Logging({"ibv_advise_mr...advice=99"}),
            Otherwise(AdviseOnServer, "ibv_advise_mr")
                .In(WithDeviceThatTakesNoAdvice())})
      .Provider({"call:ibv_advise_mr"});
}

// --- Own regions -------------------------------------------------------------

LocalMr& NewMr(Stage& stage) {
  LocalMr& mr = stage.Keep(LocalMr());
  Bytes& bytes = stage.Keep(Bytes());
  EXPECT_THAT(rpma_mr_reg(stage.client_peer(), bytes.data(), bytes.size(),
                          kAllUsages, mr.address()),
              IsOk());
  return mr;
}

void StillCanBeWrittenFrom(Stage& stage, Call& call) {
  const End& end = stage.client();
  EXPECT_THAT(rpma_write(end.conn, end.remote, 0,
                         call.HandleAt<rpma_mr_local>("mr_ptr"), 0, 8,
                         RPMA_F_COMPLETION_ALWAYS, Context(1)),
              IsOk());
  EXPECT_THAT(Poll(end.cq), Succeeded(1, IBV_WC_RDMA_WRITE));
}

void AddGetters(Registry& registry) {
  registry
      .Of("rpma_mr_get_ptr",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_get_ptr, stage.region().mr(),
                             stage.Out<void*>());
          })
      .Inval({"null:mr", "null:ptr"});
  registry
      .Of("rpma_mr_get_size",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_get_size, stage.region().mr(),
                             stage.Out<size_t>());
          })
      .Inval({"null:mr", "null:size"});
  registry
      .Of("rpma_mr_get_descriptor",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_get_descriptor, stage.region().mr(),
                             stage.Out<MrDescriptor>());
          })
      .Inval({"null:mr", "null:desc"});
  registry
      .Of("rpma_mr_get_descriptor_size",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_get_descriptor_size, stage.region().mr(),
                             stage.Out<size_t>());
          })
      .Inval({"null:mr", "null:desc_size"});
}

void AddRegistration(Registry& registry) {
  registry
      .Of("rpma_mr_reg",
          [](Stage& stage) {
            Bytes& bytes = stage.Keep(Bytes());
            return RPMA_CALL(rpma_mr_reg, stage.client_peer(), bytes.data(),
                             bytes.size(), kAllUsages,
                             stage.Keep(LocalMr()).address());
          })
      .Inval(
          {"null:peer", "null:ptr", "null:mr_ptr", "zero:size", "zero:usage"})
      .Add("RPMA_E_INVAL", "range:usage:unknown_bits",
           {WithNumber("usage", 0x100), WithNumber("usage", -1)})
      .OutOfMemory()
      .Provider({"call:ibv_reg_mr"})
      .Add("RPMA_E_PROVIDER",
           "state:odp_unsupported if:ibv_reg_mr_errno==EOPNOTSUPP",
           Failing("ibv_reg_mr", EOPNOTSUPP)
               .Logging({"ibv_reg_mr...on-demand paging"}));
  registry
      .Of("rpma_mr_dereg",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_dereg, NewMr(stage).address());
          })
      .Inval({"null:mr_ptr"})
      .Add("RPMA_E_PROVIDER", "call:ibv_dereg_mr",
           Failing("ibv_dereg_mr").Then(StillCanBeWrittenFrom));
}

// --- Remote regions ----------------------------------------------------------

constexpr MrDescriptor kDescriptor = {0,   0x10, 0, 0, 0, 0, 0, 0,  // address
                                      64,  0,    0, 0, 0, 0, 0, 0,  // length
                                      1,   2,    3, 4,              // rkey
                                      0xff};                        // usage
constexpr MrDescriptor kWithoutUsage = [] {
  MrDescriptor descriptor = kDescriptor;
  descriptor[20] = 0;
  return descriptor;
}();
constexpr MrDescriptor kEmpty = [] {
  MrDescriptor descriptor = kDescriptor;
  descriptor[8] = 0;
  return descriptor;
}();
constexpr MrDescriptor kPastTheEnd = [] {
  MrDescriptor descriptor = kDescriptor;
  descriptor[15] = 0xff;
  descriptor[7] = 0x80;
  return descriptor;
}();

Trial WithDescriptor(const MrDescriptor& descriptor, const std::string& log) {
  return {.spoil =
              [&descriptor](Stage&, Call& call) {
                call.SetAddress("desc", descriptor.data());
              },
          .log = {log}};
}

void AddRemote(Registry& registry) {
  registry
      .Of("rpma_mr_remote_from_descriptor",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_remote_from_descriptor, kDescriptor.data(),
                             kDescriptor.size(),
                             stage.Keep(RemoteMr()).address());
          })
      .Inval({"null:desc", "null:mr_ptr"})
      .Add("RPMA_E_INVAL", "range:desc_size:<21",
           {WithNumber("desc_size", 20).Logging({"21 bytes, not 20"}),
            WithNumber("desc_size", 0).Logging({"21 bytes, not 0"})})
      .Add("RPMA_E_INVAL", "range:desc:usage_byte_zero",
           WithDescriptor(kWithoutUsage, "descriptor...no usage"))
      .Add("RPMA_E_NOSUPP", "range:desc:not_a_valid_region",
           {WithDescriptor(kEmpty, "descriptor...length 0"),
            WithDescriptor(kPastTheEnd, "descriptor...no region")})
      .OutOfMemory();
  registry
      .Of("rpma_mr_remote_delete",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_remote_delete,
                             stage.Keep(stage.region().Remote()).address());
          })
      .Inval({"null:mr_ptr"});
  registry
      .Of("rpma_mr_remote_get_size",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_remote_get_size, stage.remote(),
                             stage.Out<size_t>());
          })
      .Inval({"null:mr", "null:size"});
  registry
      .Of("rpma_mr_remote_get_flush_type",
          [](Stage& stage) {
            return RPMA_CALL(rpma_mr_remote_get_flush_type, stage.remote(),
                             stage.Out<int>());
          })
      .Inval({"null:mr", "null:flush_type"});
}

}  // namespace

void AddMemoryCases(Registry& registry) {
  AddRegistration(registry);
  AddGetters(registry);
  AddAdvice(registry);
  AddRemote(registry);
}

}  // namespace rpma::test
