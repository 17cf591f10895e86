// usage: plan TASK.json
// Plans a task and prints its cost, and which columns of which table go to which device.
//
// Build: CGO_CFLAGS="-I DIR/include" CGO_LDFLAGS="-L DIR/lib" go build plan.go
package main

/*
#cgo LDFLAGS: -lneuroshard
#include <neuroshard/c_api.h>
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// errorOf is the message of the call that has just failed. Messages belong to threads, so callers
// keep to one (runtime.LockOSThread).
func errorOf(status C.ns_status) error {
	if status == C.NS_OK {
		return nil
	}
	return fmt.Errorf("%s", C.GoString(C.ns_last_error()))
}

func plan(json []byte) (code int, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if len(json) == 0 {
		return 2, fmt.Errorf("the task is empty")
	}

	var task *C.ns_task
	status := C.ns_task_from_json((*C.char)(unsafe.Pointer(&json[0])), C.size_t(len(json)), &task)
	if err := errorOf(status); err != nil {
		return 2, err
	}
	defer C.ns_task_free(task)
	var planner *C.ns_planner
	if err := errorOf(C.ns_planner_create(nil, &planner)); err != nil {
		return 2, err
	}
	defer C.ns_planner_free(planner)

	options := C.ns_plan_options{deadline_ms: 60e3}
	options.size = C.size_t(unsafe.Sizeof(options))
	var found *C.ns_plan
	status = C.ns_planner_plan(planner, task, &options, &found)
	defer func() { C.ns_plan_free(found) }()
	if status == C.NS_INFEASIBLE {
		return 1, errorOf(status)
	}
	if err := errorOf(status); err != nil {
		return 2, err
	}

	var summary C.ns_plan_summary
	summary.size = C.size_t(unsafe.Sizeof(summary))
	if err := errorOf(C.ns_plan_get_summary(found, &summary)); err != nil {
		return 2, err
	}
	count := C.size_t(summary.slices)
	slices := make([]C.ns_slice, count)
	if err := errorOf(C.ns_plan_get_slices(found, &slices[0], count, &count)); err != nil {
		return 2, err
	}
	fmt.Printf("cost %.6f ms\n", float64(summary.cost_ms))
	for _, slice := range slices {
		fmt.Printf("device %d: table %d, columns %d to %d\n", slice.device, slice.table,
			slice.first_column, slice.first_column+slice.dim-1)
	}
	return 0, nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: plan TASK.json")
		os.Exit(2)
	}
	json, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintf(os.Stderr, "plan: %s cannot be read\n", os.Args[1])
		os.Exit(2)
	}
	code, err := plan(json)
	if err != nil {
		fmt.Fprintln(os.Stderr, "plan:", err)
	}
	os.Exit(code)
}
