# scale, rollout, wait, delete, nodes, pods.
ok 'scaled' scale deployment web --replicas=2
check 1 'Expected replicas to be 7, was 2' scale deployment web --replicas=3 --current-replicas=7
ok '^2$' get deployment web -o 'jsonpath={.spec.replicas}'
# what the deployment controller would write
uid=$(k get deployment web -o 'jsonpath={.metadata.uid}')
for revision in 1 2; do
  file rs.yaml <<YAML
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-$revision
  labels: {app: web, pod-template-hash: "$revision"}
  annotations: {deployment.kubernetes.io/revision: "$revision"}
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: $uid, controller: true}]
spec:
  replicas: $((revision - 1))
  selector: {matchLabels: {app: web, pod-template-hash: "$revision"}}
  template:
    metadata: {labels: {app: web, pod-template-hash: "$revision"}}
    spec: {containers: [{name: web, image: "shop/web:1.$((revision - 1))"}]}
YAML
  ok 'created' create -f "$f"
done
k annotate deployment web deployment.kubernetes.io/revision=2 >/dev/null
ok 'REVISION.*1.*2' rollout history deployment web
ok 'Image:.*shop/web:1.0' rollout history deployment web --revision=1
ok 'Name: +web-1' describe replicaset web-1
check 1 'timed out|exceeded' rollout status deployment web --timeout=1s
complete() {
  local generation
  generation=$(k get deployment web -o 'jsonpath={.metadata.generation}')
  k patch deployment web --subresource=status --type=merge -p \
    "{\"status\":{\"observedGeneration\":$generation,\"replicas\":2,\"updatedReplicas\":2,\"readyReplicas\":2,\"availableReplicas\":2,\"conditions\":[{\"type\":\"Available\",\"status\":\"True\"}]}}" >/dev/null
}
(sleep 0.5; complete) &
ok 'successfully rolled out' rollout status deployment web --timeout=20s
wait $!
ok 'condition met' wait deployment web --for=condition=Available --timeout=10s
ok 'condition met' wait deployment web --for=jsonpath='{.status.readyReplicas}'=2 --timeout=10s
check 1 'timed out' wait deployment web --for=condition=Nothing --timeout=1s
ok 'paused' rollout pause deployment web
check 1 'already paused' rollout pause deployment web
ok 'resumed' rollout resume deployment web
ok 'restarted' rollout restart deployment web
ok 'restartedAt' get deployment web -o yaml
ok 'rolled back' rollout undo deployment web --to-revision=1
ok '^shop/web:1.0$' get deployment web -o 'jsonpath={.spec.template.spec.containers[0].image}'
# nodes
ok 'cordoned' cordon sim-1
ok 'SchedulingDisabled' get node sim-1
ok 'uncordoned' uncordon sim-1
ok 'tainted' taint node sim-1 k=v:NoSchedule
ok 'Taints: +k=v:NoSchedule' describe node sim-1
ok 'untainted' taint node sim-1 k-
k patch pod one --type=merge -p '{}' >/dev/null
ok 'condition met' wait pod one --for=condition=Ready --timeout=20s
node=$(k get pod one -o 'jsonpath={.spec.nodeName}')
check 1 'cannot delete|declare no controller' drain "$node" --ignore-daemonsets --timeout=10s
ok 'drained' drain "$node" --ignore-daemonsets --force --timeout=20s
ok 'uncordoned' uncordon "$node"
check 1 '"one" not found' get pod one
# what a server without kubelets can not do is said, not hung on
ok 'created' run two --image=shop/two:1
ok 'condition met' wait pod two --for=condition=Ready --timeout=20s
check 1 '[Ee]rror' logs two
check 1 '[Ee]rror|unable' exec two -- true
check 1 '[Ee]rror|unable' port-forward pod/two 18080:80
check 1 '[Ee]rror|unable' cp "$web" two:/tmp/x
check 1 '[Ee]rror|unable' attach two
check 1 'Metrics API not available' top pods
check 1 'Metrics API not available' top nodes
# delete
ok 'deleted' delete pod two --grace-period=0 --force
ok 'deleted' delete job task
ok 'deleted' delete configmap conf
check 1 'not found' delete configmap conf
ok '' delete configmap conf --ignore-not-found
ok 'deleted' delete deployment quick --cascade=orphan --wait=false
ok 'orphan' get deployment quick -o 'jsonpath={.metadata.finalizers}'
ok 'deleted' delete deployment web --cascade=foreground --wait=false
ok 'foregroundDeletion' get deployment web -o 'jsonpath={.metadata.finalizers}'
ok 'patched' patch deployment web --type=merge -p '{"metadata":{"finalizers":null}}'
ok 'deleted' delete replicasets --all --cascade=background
ok 'deleted' delete -l all=yes configmap
ok '' delete -f "$work/cm.yaml" --ignore-not-found
ok '' delete --dry-run=server service web
ok 'web' get service web
ok 'deleted' delete service,ingress --all
