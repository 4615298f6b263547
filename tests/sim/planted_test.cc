// SPDX-License-Identifier: BSD-3-Clause
// A walk notices what is wrong: each test puts a wrong function in the place of
// a right one.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "tests/sim/report.h"
#include "tests/sim/walk.h"

namespace rpma::sim {
namespace {

using ::testing::ContainsRegex;

// Something goes wrong the `nth` time that it could, once.
class Once {
 public:
  explicit Once(int nth) : left_(std::make_shared<int>(nth)) {}
  bool operator()() const { return --*left_ == 0; }

 private:
  std::shared_ptr<int> left_;
};

// What the first of a few walks that notices the wrong function says.
std::string NoticedWith(const std::function<Api()>& plant) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    RunOptions options;
    options.seed = seed;
    options.profile = "roce";
    const RunResult result = RunSeed(options, plant());
    if (!result.passed()) return result.violation;
  }
  return "";
}

// Completions that come from rpma_cq_get_wc(), which `change` may alter: it
// gets their number and returns another one.
using Change = std::function<int(ibv_wc* wcs, int count)>;
Api ChangingCompletions(const Change& change) {
  Api api;
  api.cq_get_wc = [change](rpma_cq* cq, int capacity, ibv_wc* wcs, int* got) {
    const int rc = rpma_cq_get_wc(cq, capacity, wcs, got);
    if (rc != 0) return rc;
    *got = change(wcs, *got);
    return *got > 0 ? 0 : RPMA_E_NO_COMPLETION;
  };
  return api;
}

// The same, of one completion that fits.
Api ChangingOne(const std::function<bool(const ibv_wc&)>& fits,
                const std::function<void(ibv_wc*)>& change, int nth = 10) {
  const Once once(nth);
  return ChangingCompletions([=](ibv_wc* wcs, int count) {
    for (int i = 0; i < count; ++i) {
      if (fits(wcs[i]) && once()) change(&wcs[i]);
    }
    return count;
  });
}

bool Succeeded(const ibv_wc& wc) { return wc.status == IBV_WC_SUCCESS; }
bool IsReceive(const ibv_wc& wc) {
  return Succeeded(wc) && (wc.opcode & IBV_WC_RECV) != 0;
}

TEST(PlantedTest, ALostCompletion) {
  const auto plant = [] {
    const Once once(10);
    return ChangingCompletions([=](ibv_wc* wcs, int count) {
      return Succeeded(wcs[count - 1]) && once() ? count - 1 : count;
    });
  };
  EXPECT_THAT(NoticedWith(plant),
              ContainsRegex("has had no completion|stuck|announced|"
                            "completed before|has not got"));
}

TEST(PlantedTest, ADoubledCompletion) {
  const auto plant = [] {
    const Once once(10);
    return ChangingCompletions([=](ibv_wc* wcs, int count) {
      if (count > 1 && once()) wcs[1] = wcs[0];
      return count;
    });
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("has completed before"));
}

TEST(PlantedTest, CompletionsOutOfOrder) {
  const auto plant = [] {
    return ChangingCompletions([](ibv_wc* wcs, int count) {
      if (count > 1 && wcs[0].qp_num == wcs[1].qp_num) {
        std::swap(wcs[0], wcs[1]);
      }
      return count;
    });
  };
  EXPECT_THAT(NoticedWith(plant),
              ContainsRegex("has had no completion|completed before|"
                            "was not flushed"));
}

TEST(PlantedTest, AFailureForNoReason) {
  const auto plant = [] {
    return ChangingOne(Succeeded,
                       [](ibv_wc* wc) { wc->status = IBV_WC_REM_ACCESS_ERR; });
  };
  EXPECT_THAT(NoticedWith(plant),
              ContainsRegex("only .* may come|for no reason"));
}

TEST(PlantedTest, ASuccessThatCannotBe) {
  const auto plant = [] {
    return ChangingOne([](const ibv_wc& wc) { return !Succeeded(wc); },
                       [](ibv_wc* wc) { wc->status = IBV_WC_SUCCESS; });
  };
  EXPECT_THAT(NoticedWith(plant),
              ContainsRegex("only .* may come|has sent nothing|but request|is "
                            "unsignalled|"
                            "after one of its queue|completed with opcode"));
}

TEST(PlantedTest, AWrongLength) {
  const auto plant = [] {
    return ChangingOne(IsReceive, [](ibv_wc* wc) { ++wc->byte_len; });
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("byte_len"));
}

TEST(PlantedTest, WrongImmediateData) {
  const auto plant = [] {
    return ChangingOne(
        [](const ibv_wc& wc) {
          return IsReceive(wc) && (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
        },
        [](ibv_wc* wc) { wc->imm_data ^= 1; }, /*nth=*/2);
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("brings"));
}

TEST(PlantedTest, ASuccessToldThoughNobodyAsked) {
  const auto plant = [] {
    Api api;
    api.write = [](rpma_conn* conn, rpma_mr_remote* dst, size_t dst_offset,
                   const rpma_mr_local* src, size_t src_offset, size_t len,
                   int /*flags*/, const void* context) {
      return rpma_write(conn, dst, dst_offset, src, src_offset, len,
                        RPMA_F_COMPLETION_ALWAYS, context);
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("is unsignalled"));
}

TEST(PlantedTest, AWriteThatBringsNothing) {
  const auto plant = [] {
    const Once once(10);
    Api api;
    api.write = [=](rpma_conn* conn, rpma_mr_remote* dst, size_t dst_offset,
                    const rpma_mr_local* src, size_t src_offset, size_t len,
                    int flags, const void* context) {
      const size_t brought =
          flags == RPMA_F_COMPLETION_ALWAYS && once() ? 0 : len;
      return rpma_write(conn, dst, dst_offset, src, src_offset, brought, flags,
                        context);
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("byte .* of region"));
}

TEST(PlantedTest, AByteThatChangesByItself) {
  const auto plant = [] {
    const auto bytes = std::make_shared<uint8_t*>(nullptr);
    const Once once(20);
    Api api;
    api.mr_reg = [=](rpma_peer* peer, void* ptr, size_t size, int usage,
                     rpma_mr_local** mr) {
      *bytes = static_cast<uint8_t*>(ptr);
      return rpma_mr_reg(peer, ptr, size, usage, mr);
    };
    api.cq_get_wc = [=](rpma_cq* cq, int capacity, ibv_wc* wcs, int* got) {
      if (*bytes != nullptr && once()) (*bytes)[-1] ^= 1;
      return rpma_cq_get_wc(cq, capacity, wcs, got);
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("byte .* of region"));
}

TEST(PlantedTest, ASecondWriteBeforeTheFirst) {
  const auto plant = [] {
    // Posts a write of the same bytes to the place eight bytes further on.
    Api api;
    api.atomic_write = [](rpma_conn* conn, rpma_mr_remote* dst,
                          size_t dst_offset, const char src[8], int flags,
                          const void* context) {
      const size_t wrong = dst_offset >= 8 ? dst_offset - 8 : dst_offset;
      return rpma_atomic_write(conn, dst, wrong, src, flags, context);
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("byte .* of region|returned"));
}

TEST(PlantedTest, AFullQueueThatTakesMore) {
  const auto plant = [] {
    Api api;
    api.send = [](rpma_conn* conn, const rpma_mr_local* src, size_t offset,
                  size_t len, int flags, const void* context) {
      const int rc = rpma_send(conn, src, offset, len, flags, context);
      return rc == RPMA_E_PROVIDER ? 0 : rc;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("rpma_send\\(\\) returned 0"));
}

TEST(PlantedTest, ALostEvent) {
  const auto plant = [] {
    const Once once(3);
    Api api;
    api.conn_next_event = [=](rpma_conn* conn, rpma_conn_event* event) {
      const int rc = rpma_conn_next_event(conn, event);
      return rc == 0 && once() ? RPMA_E_NO_EVENT : rc;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("gave no event"));
}

TEST(PlantedTest, AnEventForAnother) {
  const auto plant = [] {
    Api api;
    api.conn_next_event = [](rpma_conn* conn, rpma_conn_event* event) {
      const int rc = rpma_conn_next_event(conn, event);
      if (rc == 0 && *event == RPMA_CONN_CLOSED) *event = RPMA_CONN_LOST;
      return rc;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("cannot have come"));
}

TEST(PlantedTest, AnEventTwice) {
  const auto plant = [] {
    const auto before = std::make_shared<rpma_conn*>(nullptr);
    Api api;
    api.conn_next_event = [=](rpma_conn* conn, rpma_conn_event* event) {
      const int rc = rpma_conn_next_event(conn, event);
      if (rc == 0 && *event == RPMA_CONN_ESTABLISHED) {
        *before = conn;
      } else if (rc == RPMA_E_NO_EVENT && *before == conn) {
        *event = RPMA_CONN_ESTABLISHED;
        return 0;
      }
      return rc;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("cannot have come"));
}

TEST(PlantedTest, ALostWakeUp) {
  const auto plant = [] {
    Api api;
    api.cq_wait = [](rpma_cq* cq) {
      const int rc = rpma_cq_wait(cq);
      return rc == 0 ? RPMA_E_NO_COMPLETION : rc;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant),
              ContainsRegex("whose event never came|found nothing"));
}

TEST(PlantedTest, AWakeUpForNothing) {
  const auto plant = [] {
    Api api;
    api.cq_wait = [](rpma_cq* cq) {
      const int rc = rpma_cq_wait(cq);
      return rc == RPMA_E_NO_COMPLETION ? 0 : rc;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("announce"));
}

TEST(PlantedTest, ALostConnectionRequest) {
  const auto plant = [] {
    Api api;
    api.ep_next_conn_req = [](rpma_ep* ep, const rpma_conn_cfg* cfg,
                              rpma_conn_req** request) {
      const int rc = rpma_ep_next_conn_req(ep, cfg, request);
      if (rc != 0) return rc;
      rpma_conn_req_delete(request);
      return RPMA_E_NO_EVENT;
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("gave no request"));
}

TEST(PlantedTest, PrivateDataCutShort) {
  const auto plant = [] {
    Api api;
    api.conn_req_connect = [](rpma_conn_req** request,
                              const rpma_conn_private_data* pdata,
                              rpma_conn** conn) {
      if (pdata == nullptr || pdata->len < 6) {
        return rpma_conn_req_connect(request, pdata, conn);
      }
      rpma_conn_private_data cut = *pdata;
      --cut.len;
      return rpma_conn_req_connect(request, &cut, conn);
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("private data|returned 0"));
}

TEST(PlantedTest, AnObjectThatStays) {
  const auto plant = [] {
    const auto kept = std::make_shared<std::vector<rpma_conn*>>();
    Api api;
    api.conn_delete = [=](rpma_conn** conn) {
      kept->push_back(*conn);
      *conn = nullptr;
      return 0;
    };
    api.before_the_end = [=] {
      for (rpma_conn* conn : *kept) rpma_conn_delete(&conn);
    };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("live on the fabric"));
}

TEST(PlantedTest, ACodeThatIsNone) {
  const auto plant = [] {
    Api api;
    api.conn_disconnect = [](rpma_conn*) { return -5; };
    return api;
  };
  EXPECT_THAT(NoticedWith(plant), ContainsRegex("which is no result"));
}

TEST(PlantedTest, NothingPlantedNothingNoticed) {
  EXPECT_EQ(NoticedWith([] { return Api(); }), "");
}

}  // namespace
}  // namespace rpma::sim
