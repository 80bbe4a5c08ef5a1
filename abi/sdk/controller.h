// SPDX-License-Identifier: Apache-2.0
// Turns a C++ class into the C vtable of a controller, and a list of them into a plugin.
//
//   class Controller {
//    public:
//     explicit Controller(sdk::Context& context);          // throws to refuse; sdk::Skip to be
//     skipped void OnChange(const sdk::Change& change); sdk::Outcome Reconcile(sdk::Run& run);
//     // optional: void Start(); void Stop(); kcm::Status OnTask(uint32_t task, sdk::Run& run);
//     kcm::Status Health();
//     //           std::string SaveState(); void LoadState(std::string_view state);
//   };
//   KCM_PLUGIN("pod", "1.0.0", "example.com", KCM_CONTROLLER(deployment::Controller,
//   deployment::kDeclaration),
//              KCM_CONTROLLER(replicaset::Controller, replicaset::kDeclaration));
#pragma once
#include <kcm/plugin.h>

#include <concepts>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "kcm/sdk/context.h"
#include "kcm/sdk/declaration.h"

namespace kcm::sdk {

// Thrown by a constructor that decides not to run (HOST 1.4: "skipping controller").
struct Skip : std::exception {
  explicit Skip(std::string w) : why(std::move(w)) {}
  const char* what() const noexcept override { return why.c_str(); }
  std::string why;
};

// One change of one watched object, borrowed for the call.
class Change {
 public:
  enum class Type { kAdd, kUpdate, kDelete };
  explicit Change(const kcm_event& e) : e_(e) {}
  Type type() const {
    return e_.type == KCM_EVENT_ADD      ? Type::kAdd
           : e_.type == KCM_EVENT_UPDATE ? Type::kUpdate
                                         : Type::kDelete;
  }
  uint32_t watch() const { return e_.watch; }
  bool initial() const { return (e_.flags & KCM_EVENT_INITIAL) != 0; }
  bool tombstone() const { return (e_.flags & KCM_EVENT_TOMBSTONE) != 0; }
  bool resync() const { return (e_.flags & KCM_EVENT_RESYNC) != 0; }
  // Add, update: the present state; delete: the last known one.
  rules::Node object() const { return CursorNode(internal::ObjectApi().root(e_.object)); }
  rules::Node old_object() const {
    return e_.old_object == nullptr ? rules::Node()
                                    : CursorNode(internal::ObjectApi().root(e_.old_object));
  }
  std::string_view ns() const { return View(internal::ObjectApi().namespace_of(e_.object)); }
  std::string_view name() const { return View(internal::ObjectApi().name_of(e_.object)); }
  std::string_view uid() const { return View(internal::ObjectApi().uid_of(e_.object)); }
  std::string_view resource_version() const {
    return View(internal::ObjectApi().resource_version_of(e_.object));
  }
  std::string_view old_resource_version() const {
    return e_.old_object == nullptr
               ? std::string_view()
               : View(internal::ObjectApi().resource_version_of(e_.old_object));
  }
  std::string Key() const;
  ObjectRef Share() const { return ObjectRef::Share(e_.object); }

 private:
  const kcm_event& e_;
};

namespace internal {

// Writes `text` into the caller's buffer, cut at a character border. Returns `code`.
int32_t Fill(kcm_error* error, int32_t code, std::string_view text) noexcept;

// Every C entry of a plugin goes through here: whatever is thrown becomes a code and a message.
template <class Step>
int32_t AtTheEdge(kcm_error* error, Step step) noexcept {
  try {
    return step();
  } catch (const Skip& skip) {
    return Fill(error, KCM_ERR_UNSUPPORTED, skip.what());
  } catch (const std::exception& e) {
    return Fill(error, KCM_ERR_INTERNAL, e.what());
  } catch (...) {
    return Fill(error, KCM_ERR_INTERNAL, "unknown exception");
  }
}

template <class T>
struct Instance {
  std::unique_ptr<Context> context;
  std::unique_ptr<T> controller;
};

// The functions of the table: noexcept, as nothing may be thrown at the host.
template <class T>
struct Adapter {
  using I = Instance<T>;
  static I& Of(kcm_controller* self) { return *reinterpret_cast<I*>(self); }

  static int32_t Create(const kcm_create* args, kcm_controller** out, kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      auto context = Context::Make(*args);
      if (!context.ok())
        return Fill(error, static_cast<int32_t>(context.code()), context.error().message);
      auto instance = std::make_unique<I>();
      instance->context = std::move(*context);
      instance->controller = std::make_unique<T>(*instance->context);
      *out = reinterpret_cast<kcm_controller*>(instance.release());
      return KCM_OK;
    });
  }
  static int32_t Start(kcm_controller* self, kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      if constexpr (requires(T & t) { t.Start(); }) Of(self).controller->Start();
      return KCM_OK;
    });
  }
  static void OnEvent(kcm_controller* self, const kcm_event* event) noexcept {
    // A throwing handler would lose the change: it is reported through the log and the object's
    // keys come back by resync.
    kcm_error none{};
    none.size = sizeof(none);
    char text[512];
    none.text = text;
    none.capacity = sizeof(text);
    const int32_t code = AtTheEdge(&none, [&]() -> int32_t {
      Of(self).controller->OnChange(Change(*event));
      return KCM_OK;
    });
    if (code == KCM_OK) return;
    (void)AtTheEdge(nullptr, [&]() -> int32_t {
      Of(self).context->log().Error(std::string_view(text, none.length), "Event handler failed",
                                    {});
      return KCM_OK;
    });
  }
  static int32_t Reconcile(kcm_controller* self, const kcm_reconcile* run, kcm_outcome* outcome,
                           kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      Run r(*Of(self).context, *run);
      const Outcome o = Of(self).controller->Reconcile(r);
      outcome->kind = o.kind();
      outcome->delay_ns = o.delay().count();
      if (o.kind() < KCM_OUTCOME_RETRY) return KCM_OK;
      return Fill(error, static_cast<int32_t>(o.error().code), o.error().message);
    });
  }
  static int32_t OnTask(kcm_controller* self, uint32_t task, kcm_scope* scope,
                        kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      if constexpr (requires(T & t, Run & r) { t.OnTask(task, r); }) {
        Run r(*Of(self).context, scope);
        const Status s = Of(self).controller->OnTask(task, r);
        if (!s.ok()) return Fill(error, static_cast<int32_t>(s.code()), s.error().message);
      }
      return KCM_OK;
    });
  }
  static void Stop(kcm_controller* self) noexcept {
    (void)AtTheEdge(nullptr, [&]() -> int32_t {
      if constexpr (requires(T & t) { t.Stop(); }) Of(self).controller->Stop();
      return KCM_OK;
    });
  }
  static void Destroy(kcm_controller* self) noexcept {
    I* instance = reinterpret_cast<I*>(self);
    (void)AtTheEdge(nullptr, [&]() -> int32_t {
      instance->controller.reset();
      instance->context.reset();
      return KCM_OK;
    });
    delete instance;
  }
  static int32_t SaveState(kcm_controller* self, void (*write)(void*, kcm_str), void* sink,
                           kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      if constexpr (requires(T & t) {
                      { t.SaveState() } -> std::convertible_to<std::string>;
                    }) {
        const std::string state = Of(self).controller->SaveState();
        write(sink, Str(state));
      }
      return KCM_OK;
    });
  }
  static int32_t LoadState(kcm_controller* self, kcm_str bytes, kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      if constexpr (requires(T & t, std::string_view v) { t.LoadState(v); })
        Of(self).controller->LoadState(View(bytes));
      return KCM_OK;
    });
  }
  static int32_t Health(kcm_controller* self, kcm_error* error) noexcept {
    return AtTheEdge(error, [&]() -> int32_t {
      if constexpr (requires(T & t) { t.Health(); }) {
        const Status s = Of(self).controller->Health();
        if (!s.ok()) return Fill(error, static_cast<int32_t>(s.code()), s.error().message);
      }
      return KCM_OK;
    });
  }

  static constexpr kcm_controller_api kApi = {sizeof(kcm_controller_api),
                                              0,
                                              Create,
                                              Start,
                                              OnEvent,
                                              Reconcile,
                                              OnTask,
                                              Stop,
                                              Destroy,
                                              SaveState,
                                              LoadState,
                                              Health};
};

}  // namespace internal
}  // namespace kcm::sdk

// A controller for KCM_PLUGIN: its class and its constexpr Declaration (an inline constexpr
// variable of namespace scope).
#define KCM_CONTROLLER(Type, declaration)        \
  (&::kcm::sdk::internal::Converted<declaration, \
                                    ::kcm::sdk::internal::Adapter<Type>::kApi>::kDeclaration)

#ifndef KCM_BUILD_ID
#define KCM_BUILD_ID "unset"
#endif

// Exports the plugin. `...` are KCM_CONTROLLER()s. Once per plugin, in its plugin.cc.
#define KCM_PLUGIN(plugin_name, plugin_version, plugin_vendor, ...)              \
  namespace {                                                                    \
  constexpr const kcm_controller_declaration* kKcmControllers[] = {__VA_ARGS__}; \
  }                                                                              \
  extern "C" KCM_EXPORT const kcm_plugin kcm_plugin_entry = {                    \
      sizeof(kcm_plugin),     KCM_PLUGIN_MAGIC,                                  \
      KCM_ABI_MAJOR,          KCM_ABI_MINOR,                                     \
      KCM_STR(plugin_name),   KCM_STR(plugin_version),                           \
      KCM_STR(plugin_vendor), KCM_STR(KCM_BUILD_ID),                             \
      kKcmControllers,        sizeof(kKcmControllers) / sizeof(kKcmControllers[0])}
