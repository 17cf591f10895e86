// usage: plan TASK.json
// Plans a task and prints its cost, and which columns of which table go to which device.
#include <inttypes.h>
#include <neuroshard/c_api.h>
#include <stdio.h>
#include <stdlib.h>

static char* read_text(const char* path, size_t* length) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char* text = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long size = ftell(file);
    rewind(file);
    text = size < 0 ? NULL : malloc((size_t)size + 1);
    *length = text == NULL ? 0 : fread(text, 1, (size_t)size, file);
  }
  fclose(file);
  return text;
}

static int print_plan(const ns_plan* plan) {
  ns_plan_summary summary = {.size = sizeof summary};
  if (ns_plan_get_summary(plan, &summary) != NS_OK) return 2;
  size_t count = (size_t)summary.slices;
  ns_slice* slices = malloc(count * sizeof *slices);
  if (slices == NULL || ns_plan_get_slices(plan, slices, count, &count) != NS_OK) return 2;
  printf("cost %.6f ms\n", summary.cost_ms);
  for (size_t i = 0; i < count; ++i) {
    printf("device %" PRId32 ": table %" PRId32 ", columns %" PRId32 " to %" PRId32 "\n",
           slices[i].device, slices[i].table, slices[i].first_column,
           slices[i].first_column + slices[i].dim - 1);
  }
  free(slices);
  return 0;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: plan TASK.json\n");
    return 2;
  }
  size_t length = 0;
  char* json = read_text(argv[1], &length);
  if (json == NULL) {
    fprintf(stderr, "plan: %s cannot be read\n", argv[1]);
    return 2;
  }

  ns_task* task = NULL;
  ns_planner* planner = NULL;
  ns_plan* plan = NULL;
  ns_status status = ns_task_from_json(json, length, &task);
  if (status == NS_OK) status = ns_planner_create(NULL, &planner);
  const ns_plan_options options = {.size = sizeof options, .deadline_ms = 60e3};
  if (status == NS_OK) status = ns_planner_plan(planner, task, &options, &plan);
  int code = status == NS_INFEASIBLE ? 1 : 2;
  if (status == NS_OK) code = print_plan(plan);
  if (code != 0) fprintf(stderr, "plan: %s\n", ns_last_error());
  ns_plan_free(plan);
  ns_planner_free(planner);
  ns_task_free(task);
  free(json);
  return code;
}
