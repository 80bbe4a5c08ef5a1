# The cluster, discovery, identities.
ok 'Server Version: .*v1\.' version
ok 'Kubernetes control plane.* is running at .*https://127' cluster-info
ok 'deployments +deploy +apps/v1 +true +Deployment' api-resources
ok 'horizontalpodautoscalers' api-resources --api-group=autoscaling
ok 'pods' api-resources --namespaced=true --verbs=list,watch -o name
lacks '(^|\s)nodes($|\s)'
ok 'apps/v1.*batch/v1.*networking.k8s.io/v1' api-versions
ok 'ok' get --raw /readyz
ok 'check passed' get --raw '/readyz?verbose'
ok 'yes' auth can-i create deployments
check 1 'no' auth can-i create deployments --as=nobody
ok '\*\.\*' auth can-i --list
ok 'admin' auth whoami
ok '"username": "admin"' auth whoami -o json
ok 'sim-0 +Ready' get nodes
ok 'INTERNAL-IP.*sim-1' get nodes -o wide
check 1 "server doesn't have a resource type \"nonsense\"" get nonsense
ok '^namespace/t created' create namespace t
k config set-context --current --namespace=t >/dev/null
ok '^serviceaccount/default created' create serviceaccount default
ok '^serviceaccount/robot created' create serviceaccount robot
ok '^eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$' create token robot
token=$out
check 1 'pods is forbidden: User "system:serviceaccount:t:robot" cannot list resource "pods" in API group "" in the namespace "t"' \
  --kubeconfig=/dev/null --server="$(k config view -o 'jsonpath={.clusters[0].cluster.server}')" \
  --insecure-skip-tls-verify=true --token="$token" -n t get pods
ok 'created' create role reader --verb=get,list --resource=pods
ok 'created' create rolebinding reader --role=reader --serviceaccount=t:robot
ok 'yes' auth can-i list pods --as=system:serviceaccount:t:robot
check 1 'no' auth can-i delete pods --as=system:serviceaccount:t:robot
ok 'created' create clusterrole watcher --verb=watch --resource=pods
ok 'created' create clusterrolebinding watcher --clusterrole=watcher --user=someone
check 1 'not found' create token nobody
