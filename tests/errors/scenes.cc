// SPDX-License-Identifier: BSD-3-Clause

#include "tests/errors/scenes.h"

#include <fcntl.h>

namespace rpma::test {
namespace {

ConnCfg& NewCfg(Stage& stage) { return stage.New<ConnCfg>(rpma_conn_cfg_new); }

}  // namespace

const rpma_conn_cfg* WithRcq(Stage& stage) {
  ConnCfg& cfg = NewCfg(stage);
  EXPECT_THAT(rpma_conn_cfg_set_rcq_size(cfg, 10), IsOk());
  return cfg;
}

const rpma_conn_cfg* WithSharedChannel(Stage& stage) {
  ConnCfg& cfg = NewCfg(stage);
  EXPECT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
  return cfg;
}

const rpma_conn_cfg* WithSharedChannelAndRcq(Stage& stage) {
  ConnCfg& cfg = NewCfg(stage);
  EXPECT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
  EXPECT_THAT(rpma_conn_cfg_set_rcq_size(cfg, 10), IsOk());
  return cfg;
}

const rpma_conn_cfg* WithExclusiveChoices(Stage& stage) {
  Srq& srq = stage.Keep(Srq());
  EXPECT_THAT(rpma_srq_new(stage.client_peer(), nullptr, srq.address()),
              IsOk());
  ConnCfg& cfg = NewCfg(stage);
  EXPECT_THAT(rpma_conn_cfg_set_compl_channel(cfg, true), IsOk());
  EXPECT_THAT(rpma_conn_cfg_set_srq(cfg, srq), IsOk());
  return cfg;
}

void MakeNonBlocking(int fd) {
  EXPECT_EQ(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

const End& ClientWithCompletion(Stage& stage, const rpma_conn_cfg* cfg) {
  const Pair& pair = stage.Keep(stage.ConnectedPair({.client_cfg = cfg}));
  EXPECT_THAT(pair.client.Write(1, 0, 0, 8), IsOk());
  EXPECT_TRUE(BecomesReadable(CompletionFd(pair.client.cq)));
  return pair.client;
}

void ExpectRefused(Stage& stage) {
  EXPECT_EQ(NextEvent(stage.last_client()), RPMA_CONN_REJECTED);
}

}  // namespace rpma::test
