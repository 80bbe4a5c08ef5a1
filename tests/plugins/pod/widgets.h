// SPDX-License-Identifier: Apache-2.0
// A custom kind with a scale subresource: Widget of example.com/v1.
#pragma once
#include "harness/cluster.h"

namespace kcm::harness {

// specReplicasPath and statusReplicasPath of Widget.
inline Json WidgetScale() {
  return {{"specReplicasPath", ".spec.replicas"}, {"statusReplicasPath", ".status.replicas"}};
}

// Discovery knows of the kind some seconds later. `scale`: the CRD's subresource.
inline void CreateWidgetKind(Cluster& cluster, const Json& scale = WidgetScale()) {
  const Json any{{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}};
  cluster.Create({{"apiVersion", "apiextensions.k8s.io/v1"},
                  {"kind", "CustomResourceDefinition"},
                  {"metadata", {{"name", "widgets.example.com"}}},
                  {"spec",
                   {{"group", "example.com"},
                    {"scope", "Namespaced"},
                    {"names", {{"plural", "widgets"}, {"singular", "widget"}, {"kind", "Widget"}}},
                    {"versions",
                     {{{"name", "v1"},
                       {"served", true},
                       {"storage", true},
                       {"schema",
                        {{"openAPIV3Schema",
                          {{"type", "object"}, {"properties", {{"spec", any}, {"status", any}}}}}}},
                       {"subresources", {{"scale", scale}}}}}}}}});
}

// Widget w of the namespace default. `status`: null for none.
inline Reply CreateWidget(Cluster& cluster, int replicas, const Json& status = nullptr) {
  Json widget{{"apiVersion", "example.com/v1"},
              {"kind", "Widget"},
              {"metadata", {{"name", "w"}}},
              {"spec", {{"replicas", replicas}}}};
  if (!status.is_null()) widget["status"] = status;
  return cluster.Request("POST", "/apis/example.com/v1/namespaces/default/widgets", widget.dump());
}

}  // namespace kcm::harness
