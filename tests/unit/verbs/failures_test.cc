// SPDX-License-Identifier: BSD-3-Clause
// Every way in which calls of verbs and rdmacm report failure becomes an Errno,
// and a call that fails writes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <cerrno>
#include <functional>
#include <ostream>

#include "backends/verbs/verbs_transport.h"
#include "tests/unit/verbs/fake_rdma_core.h"

namespace rpma::verbs {
namespace {

struct Method {
  const char* name;
  std::function<Errno(VerbsTransport&, FakeRdmaCore&)> call;
};

void PrintTo(const Method& method, std::ostream* out) { *out << method.name; }

std::string NameOf(const testing::TestParamInfo<Method>& info) {
  return info.param.name;
}

class FailuresTest : public testing::TestWithParam<Method> {
 protected:
  // What the method makes of a call that gives this; errno has an old value.
  Errno Outcome(int result, int error) {
    constexpr int kOld = ENOTTY;
    fake_.result = result;
    fake_.error = error;
    fake_.calls.clear();
    errno = kOld;
    const Errno outcome = GetParam().call(transport_, fake_);
    EXPECT_FALSE(fake_.calls.empty());
    return outcome;
  }

  FakeRdmaCore fake_;
  VerbsTransport transport_;
};

// --- Calls that return an int ------------------------------------------------

class CallsThatReturnAnInt : public FailuresTest {};

TEST_P(CallsThatReturnAnInt, Succeed) { EXPECT_EQ(Outcome(0, 0), Errno::kOk); }

TEST_P(CallsThatReturnAnInt, FailWithTheCauseInErrno) {
  EXPECT_EQ(Outcome(-1, EPIPE), Errno{EPIPE});
}

TEST_P(CallsThatReturnAnInt, FailWithTheCauseReturned) {
  EXPECT_EQ(Outcome(EBUSY, 0), Errno{EBUSY});
  EXPECT_EQ(Outcome(EBUSY, EPIPE), Errno{EBUSY});
}

TEST_P(CallsThatReturnAnInt, FailWithoutACause) {
  EXPECT_EQ(Outcome(-1, 0), Errno::kNoCause);
}

const Method kCallsThatReturnAnInt[] = {
    {"DeallocPd", [](auto& t, auto& f) { return t.DeallocPd(&f.pd); }},
    {"DeregMr", [](auto& t, auto& f) { return t.DeregMr(&f.mr); }},
    {"AdviseMr",
     [](auto& t, auto& f) { return t.AdviseMr(&f.mr, 0, 1, 0, 0); }},
    {"DestroyCompChannel",
     [](auto& t, auto& f) { return t.DestroyCompChannel(&f.comp_channel); }},
    {"DestroyCq", [](auto& t, auto& f) { return t.DestroyCq(&f.cq); }},
    {"ReqNotifyCq", [](auto& t, auto& f) { return t.ReqNotifyCq(&f.cq); }},
    {"DestroySrq", [](auto& t, auto& f) { return t.DestroySrq(&f.srq); }},
    {"AckCmEvent", [](auto& t, auto& f) { return t.AckCmEvent(&f.event); }},
    {"DestroyId", [](auto& t, auto& f) { return t.DestroyId(&f.id); }},
    {"MigrateId",
     [](auto& t, auto& f) { return t.MigrateId(&f.id, &f.event_channel); }},
    {"BindAddr", [](auto& t, auto& f) { return t.BindAddr(&f.id, f.info); }},
    {"Listen", [](auto& t, auto& f) { return t.Listen(&f.id, 0); }},
    {"ResolveAddr",
     [](auto& t, auto& f) { return t.ResolveAddr(&f.id, f.info, 1); }},
    {"ResolveRoute", [](auto& t, auto& f) { return t.ResolveRoute(&f.id, 1); }},
    {"Connect",
     [](auto& t, auto& f) {
       rdma_conn_param param = {};
       return t.Connect(&f.id, &param);
     }},
    {"Accept",
     [](auto& t, auto& f) {
       rdma_conn_param param = {};
       return t.Accept(&f.id, &param);
     }},
    {"Reject", [](auto& t, auto& f) { return t.Reject(&f.id, nullptr, 0); }},
    {"Disconnect", [](auto& t, auto& f) { return t.Disconnect(&f.id); }},
};

INSTANTIATE_TEST_SUITE_P(All, CallsThatReturnAnInt,
                         testing::ValuesIn(kCallsThatReturnAnInt), NameOf);

// Runs `call`, which gets a pointer to `value`: that is to become `made` on
// success only.
template <typename Value, typename Call>
Errno Written(Value value, Value made, Call call) {
  Value out = value;
  const Errno error = call(&out);
  EXPECT_EQ(out, error == Errno::kOk ? made : value);
  return error;
}

const Method kCallsThatReturnAnIntAndWrite[] = {
    {"GetCqEvent",
     [](auto& t, auto& f) {
       ibv_cq other = {};
       return Written(&other, &f.cq, [&](ibv_cq** cq) {
         return t.GetCqEvent(&f.comp_channel, cq);
       });
     }},
    {"GetCmEvent",
     [](auto& t, auto& f) {
       rdma_cm_event other = {};
       return Written(&other, &f.event, [&](rdma_cm_event** event) {
         return t.GetCmEvent(&f.event_channel, event);
       });
     }},
    {"CreateId",
     [](auto& t, auto& f) {
       rdma_cm_id other = {};
       return Written(&other, &f.id,
                      [&](rdma_cm_id** id) { return t.CreateId(nullptr, id); });
     }},
    {"CreateQp",
     [](auto& t, auto& f) {
       QpCaps caps = {.atomic_write = true, .flush = true};
       const Errno error = t.CreateQp(&f.id, {}, &caps);
       EXPECT_EQ(caps.atomic_write, error != Errno::kOk);
       EXPECT_EQ(caps.flush, error != Errno::kOk);
       return error;
     }},
    {"DestroyQp",
     [](auto& t, auto& f) {
       f.id.qp = &f.qp;
       const Errno error = t.DestroyQp(&f.id);
       EXPECT_EQ(f.id.qp, error == Errno::kOk ? nullptr : &f.qp);
       return error;
     }},
    {"QueryDevice",
     [](auto& t, auto& f) {
       f.device_attr.orig_attr.max_mr_size = 1;
       DeviceCaps caps;
       const Errno error = t.QueryDevice(&f.context, &caps);
       EXPECT_EQ(caps.max_mr_size, error == Errno::kOk ? 1u : 0u);
       return error;
     }},
};

INSTANTIATE_TEST_SUITE_P(Writing, CallsThatReturnAnInt,
                         testing::ValuesIn(kCallsThatReturnAnIntAndWrite),
                         NameOf);

// --- Calls that return an object ---------------------------------------------

class CallsThatReturnAnObject : public FailuresTest {};

TEST_P(CallsThatReturnAnObject, Succeed) {
  EXPECT_EQ(Outcome(0, 0), Errno::kOk);
}

TEST_P(CallsThatReturnAnObject, FailWithTheCauseInErrno) {
  EXPECT_EQ(Outcome(1, ENOMEM), Errno{ENOMEM});
}

TEST_P(CallsThatReturnAnObject, FailWithoutACause) {
  EXPECT_EQ(Outcome(1, 0), Errno::kNoCause);
}

const Method kCallsThatReturnAnObject[] = {
    {"AllocPd",
     [](auto& t, auto& f) {
       ibv_pd other = {};
       return Written(&other, &f.pd,
                      [&](ibv_pd** pd) { return t.AllocPd(&f.context, pd); });
     }},
    {"RegMr",
     [](auto& t, auto& f) {
       ibv_mr other = {};
       return Written(&other, &f.mr, [&](ibv_mr** mr) {
         return t.RegMr(&f.pd, &f, 1, kMrLocalWrite, mr);
       });
     }},
    {"CreateCompChannel",
     [](auto& t, auto& f) {
       ibv_comp_channel other = {};
       return Written(&other, &f.comp_channel, [&](ibv_comp_channel** channel) {
         return t.CreateCompChannel(&f.context, channel);
       });
     }},
    {"CreateCq",
     [](auto& t, auto& f) {
       ibv_cq other = {};
       return Written(&other, &f.cq, [&](ibv_cq** cq) {
         return t.CreateCq(&f.context, 1, nullptr, cq);
       });
     }},
    {"CreateSrq",
     [](auto& t, auto& f) {
       ibv_srq other = {};
       return Written(&other, &f.srq, [&](ibv_srq** srq) {
         return t.CreateSrq(&f.pd, 1, srq);
       });
     }},
    {"CreateEventChannel",
     [](auto& t, auto& f) {
       rdma_event_channel other = {};
       return Written(&other, &f.event_channel,
                      [&](rdma_event_channel** channel) {
                        return t.CreateEventChannel(channel);
                      });
     }},
};

INSTANTIATE_TEST_SUITE_P(All, CallsThatReturnAnObject,
                         testing::ValuesIn(kCallsThatReturnAnObject), NameOf);

// --- Calls of the data path --------------------------------------------------

class CallsThatPost : public FailuresTest {};

TEST_P(CallsThatPost, SucceedAndLeaveErrnoAlone) {
  EXPECT_EQ(Outcome(0, 0), Errno::kOk);
  EXPECT_EQ(errno, ENOTTY);
}

TEST_P(CallsThatPost, FailWithTheCauseReturned) {
  EXPECT_EQ(Outcome(ENOMEM, 0), Errno{ENOMEM});
  EXPECT_EQ(Outcome(ENOMEM, EPIPE), Errno{ENOMEM});
}

TEST_P(CallsThatPost, FailWithoutACause) {
  EXPECT_EQ(Outcome(-1, 0), Errno::kNoCause);
}

const Method kCallsThatPost[] = {
    {"PostSend",
     [](auto& t, auto& f) {
       ibv_send_wr wr = {};
       return t.PostSend(&f.qp, &wr);
     }},
    {"PostRecv",
     [](auto& t, auto& f) {
       ibv_recv_wr wr = {};
       return t.PostRecv(&f.qp, &wr);
     }},
    {"PostSrqRecv",
     [](auto& t, auto& f) {
       ibv_recv_wr wr = {};
       return t.PostSrqRecv(&f.srq, &wr);
     }},
#ifdef RPMA_HAVE_IBV_WR_FLUSH
    {"PostFlush", [](auto& t, auto& f) { return t.PostFlush(&f.qp, {}); }},
#endif
#ifdef RPMA_HAVE_IBV_WR_ATOMIC_WRITE
    {"PostAtomicWrite",
     [](auto& t, auto& f) { return t.PostAtomicWrite(&f.qp, {}); }},
#endif
};

INSTANTIATE_TEST_SUITE_P(All, CallsThatPost, testing::ValuesIn(kCallsThatPost),
                         NameOf);

// --- Looking up addresses ----------------------------------------------------

struct Lookup {
  int result;
  int error;
  int expected;
};

TEST(GetAddrInfoTest, GivesACodeOfTheResolverOrAnErrno) {
  const Lookup kLookups[] = {
      {EAI_NONAME, 0, EAI_NONAME}, {EAI_AGAIN, EIO, EAI_AGAIN},
      {EAI_SYSTEM, 0, EAI_SYSTEM}, {ENODEV, 0, ENODEV},
      {-1, ENODEV, ENODEV},        {-1, ENOMEM, ENOMEM},
      {-1, 0, EAI_BADFLAGS},
  };
  FakeRdmaCore fake;
  VerbsTransport transport;
  for (const auto& [result, error, expected] : kLookups) {
    fake.result = result;
    fake.error = error;
    errno = ENOTTY;
    rdma_addrinfo other = {};
    rdma_addrinfo* info = &other;
    EXPECT_EQ(transport.GetAddrInfo("host", "1", true, &info), expected);
    EXPECT_EQ(info, &other);
  }
}

TEST(GetAddrInfoTest, WithoutADeviceItIsSaidWhatIsMissing) {
  EXPECT_THAT(VerbsTransport().WhyNoDevice(),
              testing::AllOf(testing::HasSubstr("no RDMA device"),
                             testing::HasSubstr("modules"),
                             testing::HasSubstr("RPMA_TRANSPORT=emulator")));
}

}  // namespace
}  // namespace rpma::verbs
