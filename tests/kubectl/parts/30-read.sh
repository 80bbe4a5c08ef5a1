# get and its forms, describe, explain.
ok 'NAME +READY +UP-TO-DATE +AVAILABLE +AGE.*web +0/5' get deployments
ok 'CONTAINERS +IMAGES +SELECTOR' get deployments -o wide
ok 'kind: Deployment' get deployment web -o yaml
ok '"kind": "List"' get deployments,services -o json
ok 'deployment.apps/web' get all
ok 'service/web' get all
ok 'web +shop/web:1.1' get deployments -o custom-columns=N:.metadata.name,I:.spec.template.spec.containers[0].image
ok 'LABELS.*app=web' get deployment web --show-labels
ok 'side' get configmaps --sort-by=.metadata.name
ok 'kube-system' get namespaces -A
ok 'one' get pods --field-selector=metadata.name=one
ok 'No resources found in t namespace' get pods -l nothing=here
ok 'NAMESPACE' get pods -A
checks=$((checks + 1))
"$kubectl" get configmaps -w --output-watch-events >"$work/watch.txt" 2>&1 &
watch=$!
watched() {
  local i
  for ((i = 0; i < 400; ++i)); do grep -Eq "$1" "$work/watch.txt" && return; sleep 0.05; done
  out=$(cat "$work/watch.txt")
  fail 'kubectl get configmaps -w' "does not show: $1"
}
watched 'ADDED +conf'
k create configmap seen --from-literal=a=b >/dev/null
watched 'ADDED +seen'
kill "$watch"
wait "$watch" 2>/dev/null
# describe every kind we serve that has an object here; the others say that there are none
describe=(pod/one service/web deployment/web node/sim-0 namespace/t configmap/conf secret/pass serviceaccount/robot job/task
  cronjob/nightly hpa/web pdb/web quota/small ingress/shop priorityclass/high role/reader rolebinding/reader clusterrole/watcher
  clusterrolebinding/watcher apiservice/v1.apps)
ok 'Image: +shop/one:1.*StrategyType: +RollingUpdate.*Allocated resources.*Schedule: +0 3' describe "${describe[@]}"
for entry in "${describe[@]}"; do [[ $out =~ Name:\ +${entry##*/} ]] || fail "kubectl describe ${entry/\// }" 'no Name'; done
ok 'Name: +sim-0' -n kube-node-lease describe lease sim-0
unknown='^componentstatuses$'
# 1.28 describes an IPAddress as v1alpha1, which no server of today serves: NotFound, as on a real one.
if [[ $(k version --client) == *v1.28.* ]]; then unknown+='|^ipaddresses\.'; fi
kinds=$(k api-resources --verbs=list -o name | grep -vE "$unknown" | paste -sd,)
ok 'Name: +system:kube-controller-manager' describe "$kinds"
# explain
ok 'KIND: +Deployment.*VERSION: +v1.*spec' explain deployment
ok 'replicas.*<integer>' explain deployment.spec
ok 'containers.*<\[\]Container>.*required|containers.*<\[\]Container>' explain pod.spec
ok 'matchLabels.*<map\[string\]string>' explain deployment.spec.selector
ok 'maxSurge' explain deployment.spec.strategy.rollingUpdate --recursive
ok 'KIND: +HorizontalPodAutoscaler' explain hpa
check 1 'field "nope" does not exist' explain pod.spec.nope
