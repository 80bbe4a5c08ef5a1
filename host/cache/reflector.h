// SPDX-License-Identifier: Apache-2.0
// Reflector: keeps a sink equal to a resource on the server: list (or watch-list), then watch, by
// the rules of spec/host.md 5.2 and 5.3. Knows nothing of stores and handlers.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/cache/back_off.h"
#include "host/cache/informer.h"
#include "host/cache/small_thread.h"

namespace kcm::host::cache {

// Where the objects go. Called on the reflector's thread only.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // The whole content. `widened`: objects of an unchanged version only hold more fields and are no
  // change to anybody. `version`: of the list.
  virtual void Replace(std::vector<wire::ObjectPtr> items, bool widened, uint64_t version) = 0;
  virtual void Apply(wire::EventType type, wire::ObjectPtr object) = 0;
  // Exchanges an object for the same version with more fields.
  virtual void Exchange(wire::ObjectPtr object) = 0;
  // What the sink holds is as new as this (a bookmark); what it was given itself it knows.
  virtual void Reached(uint64_t version) = 0;
  virtual wire::ObjectPtr Find(std::string_view ns, std::string_view name) const = 0;
  virtual std::vector<wire::ObjectPtr> All() const = 0;
};

struct ReflectorOptions {
  InformerKey key;
  std::shared_ptr<client::Client> client;
  clock::Clock* clock = nullptr;
  log::Logger log;
  bool watch_list = true;
  std::function<double()> random;
  wire::Interner* interner = nullptr;  // shared by all reflectors of a factory
};

// Thread-safe unless noted.
class Reflector {
 public:
  Reflector(ReflectorOptions options, ReflectorSink* sink, wire::Mask mask);
  ~Reflector();

  void Start();
  void Stop();  // ends the thread and joins it
  bool started() const;

  // Adds to the mask of a first list that is not published yet; false: it is, Widen has to fill the
  // fields.
  bool Unite(const wire::Mask& mask);
  // See Informer::Widen.
  Status Widen(const wire::Mask& mask, client::Cancellation* cancel);
  wire::Mask mask() const;         // see Informer::mask
  std::string list_error() const;  // see Informer::ListError

 private:
  // Where the thread is; each state's function returns the next one.
  enum class State : uint8_t {
    kWatchList,           // asks for the initial state as a stream of events (mode B)
    kList,                // asks for it page by page (mode A, and whenever mode B fails)
    kWatch,               // follows changes from last_rv_
    kPauseThenList,       // waits, then starts over with a new initial state
    kPauseThenWatchList,  // nobody answered a watch-list: waits, then asks again
    kPauseThenWatch,      // nobody answered a watch: waits, then watches from where it was
    kStopped,
  };
  // What one stream did.
  struct StreamEnd {
    Status status = Ok();
    bool opened = false;
    bool listed = false;  // watch-list: the initial state is complete
    int events = 0;
    clock::Duration lasted{0};
    std::optional<Error> error_event;
    bool restart = false;  // its objects lack fields: from the start again
  };
  struct Widening {
    std::vector<wire::ObjectPtr> items;
    std::string rv;
    wire::Mask mask;
  };

  void Run();
  State First() const { return watch_list_ ? State::kWatchList : State::kList; }
  State WatchList();
  State List();
  State Watch();
  State AfterWatch(const StreamEnd& end);
  State AfterCancel();
  State PauseThen(BackOff* back_off, State next);

  // One LIST with all its pages into `sink`.
  Result<std::string> ListPages(const wire::Mask& mask, const std::string& rv,
                                client::Cancellation* cancel, const wire::ItemSink& sink,
                                bool* paginated) const;
  StreamEnd RunStream(const std::string& query, bool initial);
  bool OnEvent(wire::WatchEvent&& event, bool initial, StreamEnd* end);
  void Uncollect(const wire::Object& gone);
  void OnChange(wire::WatchEvent&& event);
  bool IsExpected(const wire::WatchEvent& event) const;
  bool LosesFields(const wire::ObjectPtr& object);
  wire::ObjectPtr Reuse(wire::ObjectPtr item) const;
  client::Call MakeCall(client::Verb verb, const wire::Mask* mask) const;
  std::string RelistVersion() const;
  // False: the mask has been widened since the list was asked for, so nothing was published.
  bool Listed(std::vector<wire::ObjectPtr> items, const std::string& rv);
  Status WaitListed(client::Cancellation* cancel);
  Status WaitFilled(client::Cancellation* cancel);
  Status WaitFor(const std::function<bool()>& done, client::Cancellation* cancel);
  void SetListError(const Error& error);
  static uint64_t ParseVersion(std::string_view rv);  // 0: not a number
  void SetVersion(std::string_view rv);
  void ApplyWidening();
  bool Replay(const wire::WatchEvent& event);
  bool Replaying() const { return replay_until_ != 0 || !narrow_.empty(); }
  bool Filled() const { return !widening_ && !filling_from_; }  // REQUIRES: mutex_ is held
  void EndReplay();
  std::shared_ptr<client::Cancellation> NewOperation();
  void Interrupt();
  bool stopped() const;

  const ReflectorOptions options_;
  ReflectorSink* const sink_;
  const std::string expected_kind_;  // "" when not known
  SmallThread thread_;

  // The thread's own.
  // Two sequences: the list that has to follow an outage does not wait for what the connections of
  // the outage have come to (HOST-30).
  BackOff connect_back_off_;         // of streams that nobody answered
  BackOff list_back_off_;            // of everything that has to start over
  clock::TimerId list_warning_ = 0;  // pending while the initial events are awaited
  bool watch_list_;
  bool expired_ = false;           // last_rv_ can not be listed any more: next with "" (5.3)
  bool paginated_ = false;         // the list at version 0 came in pages (5.2)
  std::atomic<bool> json_{false};  // protobuf would lose fields of a newer server
  wire::Mask active_mask_;         // of the operation that runs
  std::vector<wire::ObjectPtr> collected_;  // of a watch-list before its bookmark
  std::optional<clock::BusyPause> idle_;    // an open watch does not count as work
  uint64_t replay_until_ = 0;     // after widening: versions up to this one are known already
  std::set<std::string> narrow_;  // keys that wait for their wider object

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string last_rv_;     // guarded by mutex_
  wire::Mask mask_;         // of what is asked for. Guarded by mutex_
  bool listed_ = false;     // the first list is or is being published. Guarded by mutex_
  bool published_ = false;  // ... and the sink has it. Guarded by mutex_
  std::string list_error_;  // why not, so far. Guarded by mutex_
  bool started_ = false;    // guarded by mutex_
  bool stop_ = false;       // guarded by mutex_
  std::shared_ptr<client::Cancellation> operation_;  // what runs now. Guarded by mutex_
  std::optional<Widening> widening_;                 // waits to be taken over. Guarded by mutex_
  // While a widening that was taken over is not filled: the mask that every object has. Guarded by
  // mutex_
  std::optional<wire::Mask> filling_from_;
  std::mutex widen_mutex_;  // one Widen at a time
};

}  // namespace kcm::host::cache
