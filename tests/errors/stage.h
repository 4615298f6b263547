// SPDX-License-Identifier: BSD-3-Clause
// The world in which one call is tried, with what the call needs.

#ifndef RPMA_TESTS_ERRORS_STAGE_H_
#define RPMA_TESTS_ERRORS_STAGE_H_

#include <librpma.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/failing_allocator.h"
#include "tests/support/world.h"

namespace rpma::test {

// When it ends, librpma must have freed all that it allocated.
class Stage : public World {
 public:
  explicit Stage(const WorldOptions& options);
  ~Stage();

  // Keeps a value as long as the stage; what was kept last ends first.
  template <typename T>
  T& Keep(T value) {
    auto kept = std::make_unique<Kept<T>>(std::move(value));
    T& there = kept->value;
    kept_.push_back(std::move(kept));
    return there;
  }

  // A new object, made by a function that takes nothing else.
  template <typename Owner, typename Create>
  Owner& New(Create create) {
    Owner& owner = Keep(Owner());
    EXPECT_THAT(create(owner.address()), IsOk());
    return owner;
  }

  // A variable for an out-parameter.
  template <typename T>
  T* Out() {
    return &Keep(T());
  }

  // What many calls need; each is made when it is first asked for.
  const Region& region();     // of the client's peer
  rpma_mr_remote* remote();   // as the other side sees a region
  const End& client();        // connected with default configurations
  const std::string& port();  // of the endpoint
  Endpoint& endpoint();       // of the server's peer

  // An outgoing request to the endpoint, not connected; with defaults if `cfg`
  // is nullptr.
  ConnReq& Outgoing(const rpma_conn_cfg* cfg = nullptr);
  // The other side of a request that a client has just connected.
  ConnReq& Incoming(const rpma_conn_cfg* cfg = nullptr);
  // A client that has just connected; its request waits at the endpoint.
  Conn& Connecting();
  // The client that connected last.
  Conn& last_client() { return *last_client_; }

  FailingAllocator& allocator() { return *allocator_; }

 private:
  struct Something {
    virtual ~Something() = default;
  };
  template <typename T>
  struct Kept final : Something {
    explicit Kept(T with) : value(std::move(with)) {}
    T value;
  };

  std::optional<FailingAllocator> allocator_;
  std::vector<std::unique_ptr<Something>> kept_;
  const Region* region_ = nullptr;
  rpma_mr_remote* remote_ = nullptr;
  const Pair* pair_ = nullptr;
  const std::string* port_ = nullptr;
  Endpoint* endpoint_ = nullptr;
  Conn* last_client_ = nullptr;
};

}  // namespace rpma::test

#endif  // RPMA_TESTS_ERRORS_STAGE_H_
