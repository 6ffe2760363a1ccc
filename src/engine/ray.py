

def on_ray(args):
    """On this machine with `--workers`; else on the cluster of `--cluster`, or that of `ray job submit`."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import pyarrow.fs as fs
    import pyarrow.parquet as pq
    import ray

    where = {"address": args.cluster or "auto"}
    if args.workers:
        where = {"address": "local", "num_cpus": args.workers, "include_dashboard": False}
        where |= {"_node_ip_address": "127.0.0.1", "_temp_dir": args.scratch}
    ray.init(log_to_driver=False, logging_level="ERROR", **where)
    ready(args)

    settings = ray.data.DataContext.get_current()
    settings.enable_progress_bars = False
    settings.retried_map_errors, settings.max_map_retries = True, 3
    command, plan = args.command, args.plan
    place, folder = fs.FileSystem.from_uri(plan) if "://" in plan else (fs.LocalFileSystem(), plan)

    def work(files):
        for file in files["file"].to_pylist():
            with place.open_input_file(file) as rows:
                for batch in rendered(command, pq.ParquetFile(rows).iter_batches()):
                    yield pa.Table.from_batches([batch])

    # Ray's own reader would put small files together.
    names = sorted(file.path for file in place.get_file_info(fs.FileSelector(f"{folder}/rows")))
    files = [{"file": name} for name in names]
    made = ray.data.from_items(files, override_num_blocks=len(files))
    made = made.map_batches(work, batch_format="pyarrow", batch_size=1)
    if args.via == "engine":
        made.write_parquet(args.rows, mode="overwrite")
    else:
        receipts = made.take_all()
        print(sum(receipt["rows"] for receipt in receipts), "rows in", len(receipts), "files")
    ray.shutdown()


if __name__ == "__main__":
    carried_out(on_ray)
