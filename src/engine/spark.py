

def on_spark(args):
    """On this machine with `--workers`; else on the cluster of `--cluster`, or where spark-submit says."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if args.workers:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

    settings = {
        "spark.log.level": "OFF",
        "spark.ui.showConsoleProgress": False,
        # A file is a task: none is cut, no two are put together.
        "spark.sql.files.maxPartitionBytes": 1 << 40,
        "spark.sql.files.openCostInBytes": 1 << 40,
    }
    if args.workers:
        # A task has four attempts, as on clusters.
        settings |= {"spark.master": f"local[{args.workers},4]", "spark.ui.enabled": False}
    if args.cluster:
        settings["spark.master"] = args.cluster
    if args.scratch:
        settings["spark.local.dir"] = settings["spark.sql.warehouse.dir"] = args.scratch
    session = SparkSession.builder.appName("nihbuild").config(map=settings).getOrCreate()
    ready(args)

    rows = session.read.parquet(f"{args.plan}/rows")
    command, nothing = args.command, pa.BufferOutputStream()
    pa.ipc.new_stream(nothing, to_arrow_schema(rows.schema)).close()
    out = subprocess.run(command, input=nothing.getvalue(), stdout=subprocess.PIPE, check=True).stdout
    columns = from_arrow_schema(pa.ipc.open_stream(out).schema)
    made = rows.mapInArrow(lambda batches: rendered(command, batches), columns)
    if args.via == "engine":
        made.write.mode("overwrite").parquet(args.rows)
    else:
        receipts = made.collect()
        print(sum(receipt.rows for receipt in receipts), "rows in", len(receipts), "files")
    session.stop()


if __name__ == "__main__":
    carried_out(on_spark)
