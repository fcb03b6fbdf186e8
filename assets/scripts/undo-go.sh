# Runs the script $2 of the folder $1. The moment that it waits lets the answer of the script that started it through:
# it may cut the connection.
cd "$1" || exit 1
echo $$ >"$2.pid"
sleep 0.5
sh "./$2" >"$2.out" 2>&1
echo $? >"$2.new"
mv "$2.new" "$2.exit"
