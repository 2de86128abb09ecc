"""A real control plane for tests: etcd and kube-apiserver on loopback, with own certificates.

There are no nodes, schedulers or kubelets: tests bind pods to a node and write their status.
"""
