// usage: plan TASK.json
// Plans a task and prints its cost, and which columns of which table go to which device.
//
// Build: rustc --edition 2021 -O -L DIR/lib plan.rs

use std::ffi::{c_char, c_void, CStr};
use std::mem::{size_of, zeroed};
use std::process::exit;
use std::ptr::{null, null_mut};

/// Part of <neuroshard/c_api.h> that this program needs. bindgen writes all of it.
mod ns {
    use super::{c_char, c_void};

    pub const OK: i32 = 0;
    pub const INFEASIBLE: i32 = 1;

    macro_rules! handles {
        ($($name:ident),*) => { $(#[repr(C)] pub struct $name { _private: [u8; 0] })* };
    }
    handles!(Task, Planner, Plan);

    #[repr(C)]
    pub struct PlanOptions {
        pub size: usize,
        pub deadline_ms: f64,
        pub stop: *const c_void,
        pub alternatives: i32,
        pub reserved: i32,
        pub on_improvement: Option<extern "C" fn(*const Plan, f64, *mut c_void)>,
        pub context: *mut c_void,
    }

    #[repr(C)]
    pub struct PlanSummary {
        pub size: usize,
        pub cost_ms: f64,
        pub search_ms: f64,
        pub devices: i32,
        pub slices: i32,
        pub slowest_device: i32,
        pub alternatives: i32,
        pub complete: i32,
        pub fits_memory: i32,
    }

    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    pub struct Slice {
        pub device: i32,
        pub table: i32,
        pub first_column: i32,
        pub dim: i32,
    }

    #[link(name = "neuroshard")]
    extern "C" {
        pub fn ns_last_error() -> *const c_char;
        pub fn ns_task_from_json(json: *const c_char, length: usize, task: *mut *mut Task) -> i32;
        pub fn ns_task_free(task: *mut Task);
        pub fn ns_planner_create(options: *const c_void, planner: *mut *mut Planner) -> i32;
        pub fn ns_planner_free(planner: *mut Planner);
        pub fn ns_planner_plan(
            planner: *const Planner,
            task: *const Task,
            options: *const PlanOptions,
            plan: *mut *mut Plan,
        ) -> i32;
        pub fn ns_plan_get_summary(plan: *const Plan, summary: *mut PlanSummary) -> i32;
        pub fn ns_plan_get_slices(
            plan: *const Plan,
            slices: *mut Slice,
            capacity: usize,
            count: *mut usize,
        ) -> i32;
        pub fn ns_plan_free(plan: *mut Plan);
    }
}

/// A handle, and what frees it.
struct Handle<T>(*mut T, unsafe extern "C" fn(*mut T));

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        unsafe { (self.1)(self.0) }
    }
}

/// The message of the call on this thread that has just failed.
fn last_error() -> String {
    unsafe { CStr::from_ptr(ns::ns_last_error()) }.to_string_lossy().into_owned()
}

/// Exit code and message.
type Failure = (i32, String);

fn checked(status: i32) -> Result<(), Failure> {
    match status {
        ns::OK => Ok(()),
        ns::INFEASIBLE => Err((1, last_error())),
        _ => Err((2, last_error())),
    }
}

fn plan(json: &[u8]) -> Result<(), Failure> {
    let mut task = Handle(null_mut(), ns::ns_task_free);
    checked(unsafe { ns::ns_task_from_json(json.as_ptr().cast(), json.len(), &mut task.0) })?;
    let mut planner = Handle(null_mut(), ns::ns_planner_free);
    checked(unsafe { ns::ns_planner_create(null(), &mut planner.0) })?;

    let mut options: ns::PlanOptions = unsafe { zeroed() };
    options.size = size_of::<ns::PlanOptions>();
    options.deadline_ms = 60e3;
    let mut found = Handle(null_mut(), ns::ns_plan_free);
    checked(unsafe { ns::ns_planner_plan(planner.0, task.0, &options, &mut found.0) })?;

    let mut summary: ns::PlanSummary = unsafe { zeroed() };
    summary.size = size_of::<ns::PlanSummary>();
    checked(unsafe { ns::ns_plan_get_summary(found.0, &mut summary) })?;
    let mut slices = vec![ns::Slice::default(); summary.slices as usize];
    let mut count = 0;
    checked(unsafe {
        ns::ns_plan_get_slices(found.0, slices.as_mut_ptr(), slices.len(), &mut count)
    })?;
    println!("cost {:.6} ms", summary.cost_ms);
    for slice in &slices {
        println!(
            "device {}: table {}, columns {} to {}",
            slice.device,
            slice.table,
            slice.first_column,
            slice.first_column + slice.dim - 1
        );
    }
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: plan TASK.json");
        exit(2);
    }
    let json = std::fs::read(&arguments[1]).unwrap_or_else(|_| {
        eprintln!("plan: {} cannot be read", arguments[1]);
        exit(2)
    });
    if let Err((code, message)) = plan(&json) {
        eprintln!("plan: {message}");
        exit(code);
    }
}
