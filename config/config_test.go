// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

func TestPlan(t *testing.T) {
	t.Parallel()
	plan := Plan{
		Cabling: []Cable{{Port: "eth0"}, {Address: "0000:18:00.0"}, {Port: "eth9"}, {Port: "eth8"}},
		Roles:   map[string]string{"mlx5_0": RoleCompute, "eth1": RoleManagement, "0000:5e:00.0": RoleStorage, "eth9": RoleStorage, "eth8": RoleCompute},
	}
	tests := []struct {
		name   string
		names  []string
		role   string
		spoken bool
	}{
		{"cabled by port", []string{"0000:01:00.0", "eth0"}, "", true},
		{"cabled by address", []string{"0000:18:00.0", "eth7"}, "", true},
		{"role by RDMA device", []string{"0000:02:00.0", "eth2", "mlx5_0"}, RoleCompute, true},
		{"management", []string{"0000:03:00.0", "eth1"}, RoleManagement, false},
		{"storage by address", []string{"0000:5e:00.0", "eth3"}, RoleStorage, false},
		{"cabled and storage", []string{"eth9"}, RoleStorage, false},
		{"cabled and compute", []string{"eth8"}, RoleCompute, true},
		{"first name counts", []string{"eth1", "mlx5_0"}, RoleManagement, false},
		{"not named", []string{"0000:04:00.0", "eth4", "mlx5_4"}, "", false},
		{"part of a name", []string{"eth"}, "", false},
		{"no name", []string{""}, "", false},
		{"none", nil, "", false},
	}
	for _, test := range tests {
		if got := plan.Role(test.names...); got != test.role {
			t.Errorf("%s: role %q, want %q", test.name, got, test.role)
		}
		if got := plan.Names(test.names...); got != test.spoken {
			t.Errorf("%s: named %v, want %v", test.name, got, test.spoken)
		}
	}
	if (Plan{}).Role("eth0") != "" || (Plan{}).Names("eth0", "") {
		t.Error("an empty plan names something")
	}
}

func TestThreshold(t *testing.T) {
	t.Parallel()
	c := &Config{Thresholds: map[string]map[string]Number{"a": {"x": 0, "y": 2}}}
	for _, test := range []struct {
		c           *Config
		check, name string
		want        float64
	}{
		{c, "a", "x", 0}, {c, "a", "y", 2}, {c, "a", "z", 7}, {c, "b", "x", 7}, {&Config{}, "a", "x", 7}, {nil, "a", "x", 7},
	} {
		if got := test.c.Threshold(test.check, test.name, 7); got != test.want {
			t.Errorf("%s.%s: %v, want %v", test.check, test.name, got, test.want)
		}
	}
}
