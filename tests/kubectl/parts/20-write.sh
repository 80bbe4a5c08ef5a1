# Ways to write: create, apply on both sides, diff, replace, patch, label, annotate, edit.
file web.yaml <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "shop/web:1.0", ports: [{containerPort: 80}]}
YAML
web=$f
ok 'created \(server dry run\)' apply --dry-run=server -f "$web"
check 1 '\+  name: web' diff -f "$web"
ok '^deployment.apps/web created' apply -f "$web"
ok '^deployment.apps/web unchanged' apply -f "$web"
ok '^$' diff -f "$web"
sed 's/replicas: 2/replicas: 3/' "$web" >"$work/web3.yaml"
check 1 '\+  replicas: 3' diff -f "$work/web3.yaml"
ok '^deployment.apps/web configured' apply -f "$work/web3.yaml"
ok '^3$' get deployment web -o 'jsonpath={.spec.replicas}'
ok 'image: shop/web:1.0' apply view-last-applied deployment web
sed 's/^  replicas: 2/  nope: 1/' "$web" >"$work/nope.yaml"
check 1 'strict decoding error: unknown field "spec.nope"' apply --validate=strict -f "$work/nope.yaml"
check 1 'unknown field "spec.nope"' create --dry-run=server -f "$work/nope.yaml"
ok 'unknown field "spec.nope"' apply --validate=warn --dry-run=server -f "$work/nope.yaml"
file cm.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: side}
data: {a: "1", b: "2"}
YAML
ok 'serverside-applied' apply --server-side -f "$f"
sed 's/"1"/"9"/' "$f" >"$work/cm9.yaml"
ok 'configmap/side patched' patch configmap side --type=merge -p '{"data":{"a":"7"}}'
check 1 'Apply failed with 1 conflict: conflict with "kubectl-patch" using v1: .data.a' apply --server-side -f "$work/cm9.yaml"
ok 'serverside-applied' apply --server-side --force-conflicts -f "$work/cm9.yaml"
ok '^9$' get configmap side -o 'jsonpath={.data.a}'
ok 'serverside-applied' apply --server-side --force-conflicts -f "$web"
ok '\(server dry run\)|serverside-applied' apply --server-side --dry-run=server -f "$web"
check 1 'AlreadyExists|already exists' create -f "$f"
ok 'configmap/side replaced' replace -f "$f"
ok 'configmap/side replaced' replace --force -f "$f"
check 1 '"missing" not found' get configmap missing
check 1 'Invalid value: "UPPER"' create configmap UPPER --from-literal=a=b
# patch types
ok 'patched' patch deployment web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":4}]'
ok 'patched' patch deployment web --type=strategic -p '{"spec":{"template":{"spec":{"containers":[{"name":"web","imagePullPolicy":"Always"}]}}}}'
ok '^Always shop/web:1.0$' get deployment web -o 'jsonpath={range .spec.template.spec.containers[*]}{.imagePullPolicy} {.image}{end}'
ok 'patched \(no change\)' patch deployment web --type=merge -p '{"spec":{"replicas":4}}'
ok 'patched' patch deployment web --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"replicas":4}}'
check 1 'the server rejected our request|not found' patch deployment web --type=json -p '[{"op":"remove","path":"/spec/nothing"}]'
# labels, annotations
ok 'deployment.apps/web labeled' label deployment web tier=front
ok 'unlabeled|labeled' label deployment web tier-
check 1 "overwrite|already has a value" label deployment web app=other
ok 'labeled' label deployment web app=other --overwrite
ok 'labeled' label deployment web app=web --overwrite
ok 'annotated' annotate deployment web note=hello
ok '^hello$' get deployment web -o 'jsonpath={.metadata.annotations.note}'
ok 'labeled' label configmap --all all=yes
ok 'side' get configmap -l all=yes -o name
# edit
file edit.sh <<'SH'
#!/bin/sh
sed -i 's/replicas: 4/replicas: 5/' "$1"
SH
chmod +x "$f"
EDITOR=$f ok 'deployment.apps/web edited' edit deployment web
ok '^5$' get deployment web -o 'jsonpath={.spec.replicas}'
EDITOR=true ok 'Edit cancelled, no changes made' edit deployment web
# set, expose, autoscale, run, create of everything
ok 'image updated' set image deployment/web web=shop/web:1.1
ok 'env updated' set env deployment/web MODE=fast
ok 'resource requirements updated' set resources deployment/web --requests=cpu=10m,memory=16Mi
ok 'serviceaccount updated' set serviceaccount deployment/web robot
ok 'service/web exposed' expose deployment web --port=80 --target-port=8080
ok 'autoscaled' autoscale deployment web --min=1 --max=5 --cpu-percent=80
ok 'web +Deployment/web +.*/80%' get hpa
ok 'pod/one created' run one --image=shop/one:1
ok 'created' create deployment quick --image=shop/quick:1 --replicas=1
ok 'created' create job task --image=shop/task:1
ok 'created' create cronjob nightly --image=shop/task:1 --schedule='0 3 * * *'
ok 'created' create job from-cron --from=cronjob/nightly
ok 'created' create secret generic pass --from-literal=p=1
ok 'created' create configmap conf --from-literal=a=b
ok 'created' create quota small --hard=pods=20
ok 'created' create poddisruptionbudget web --selector=app=web --min-available=1
ok 'created' create service clusterip plain --tcp=80:80
ok 'created' create service nodeport door --tcp=80:80
ok 'created' create ingress shop --rule='shop.example.com/*=web:80'
ok 'created' create priorityclass high --value=1000
